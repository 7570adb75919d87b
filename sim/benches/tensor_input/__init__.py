"""Variants of the tensor input that its bench runs on, with units that take what it brings."""

from adagrain.models.interface.configuration import configuration
from adagrain.models.interface.formats import STREAMED, FormatCode

from .users import TensorUsers

VARIANTS = {
    "one_lane": lambda: TensorUsers(configuration("small", lanes=1), users=2),
    "two_lanes": lambda: TensorUsers(configuration("small", formats=STREAMED), users=1),
    "four_lanes": lambda: TensorUsers(configuration("full"), users=2),
    "one_format": lambda: TensorUsers(configuration("tiny", formats=(FormatCode.FP32,)), users=1),
}
ICARUS_VARIANTS = ("two_lanes",)

"""Variants of the units that rescale and pack results, on which their bench runs."""

from adagrain.hdl.rescale import IntegerRescale, Packer, Rescale
from adagrain.models.interface.precision import INTEGERS

VARIANTS = {
    "numbers": Rescale,
    "integers": IntegerRescale,
    "rows": Packer,
    "rows_of_integers": lambda: Packer(INTEGERS),
}
ICARUS_VARIANTS = tuple(VARIANTS)

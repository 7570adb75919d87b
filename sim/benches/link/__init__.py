"""Variants of the link that its bench runs on."""

from adagrain.hdl.link import Link
from adagrain.models.interface.configuration import configuration

VARIANTS = {
    "tiny": lambda: Link(configuration("tiny")),
    "small": lambda: Link(configuration("small")),
    "single": lambda: Link(configuration("tiny", window=1)),
}
ICARUS_VARIANTS = ("tiny",)

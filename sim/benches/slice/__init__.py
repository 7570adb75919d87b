"""Variants of the slice that its bench runs on."""

from adagrain.hdl.slice import Slice

VARIANTS = {"all_modes": Slice}
ICARUS_VARIANTS = ("all_modes",)

"""Variants of the mask that its bench runs on."""

from adagrain.hdl.mask import Mask

__all__ = ["ICARUS_VARIANTS", "VARIANTS"]

VARIANTS = {
    "one_lane": lambda: Mask(1),
    "two_lanes": lambda: Mask(2),
    "four_lanes": lambda: Mask(4),
}
ICARUS_VARIANTS = ("two_lanes",)

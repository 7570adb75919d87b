"""Variants of the difference unit that its bench runs on."""

from adagrain.hdl.difference import Difference

__all__ = ["ICARUS_VARIANTS", "VARIANTS"]

VARIANTS = {
    "one_lane": lambda: Difference(1),
    "two_lanes": lambda: Difference(2),
    "four_lanes": lambda: Difference(4),
}
ICARUS_VARIANTS = ("two_lanes",)

"""Variants of the encoder that its bench runs on."""

from adagrain.hdl.codec import Encoder

__all__ = ["ICARUS_VARIANTS", "VARIANTS"]

VARIANTS = {
    "one_lane": lambda: Encoder(1),
    "two_lanes": lambda: Encoder(2),
    "four_lanes": lambda: Encoder(4),
}
ICARUS_VARIANTS = ("two_lanes",)

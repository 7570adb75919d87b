"""Variants of the decoder that its bench runs on."""

from adagrain.hdl.codec import Decoder

__all__ = ["ICARUS_VARIANTS", "VARIANTS"]

VARIANTS = {
    "one_lane": lambda: Decoder(1),
    "two_lanes": lambda: Decoder(2),
    "four_lanes": lambda: Decoder(4),
}
ICARUS_VARIANTS = ("two_lanes",)

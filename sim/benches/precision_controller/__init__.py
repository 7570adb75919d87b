"""Variants of the precision controller that its bench runs on."""

from adagrain.hdl.precision_controller import PrecisionController

VARIANTS = {
    "two_channel_groups": lambda: PrecisionController(2),
    "many_channel_groups": lambda: PrecisionController(64),
}
ICARUS_VARIANTS = ("two_channel_groups",)

"""iCEBreaker."""

from .board import Board

__all__ = ["ICEBREAKER"]

ICEBREAKER = Board(
    name="icebreaker",
    title="iCEBreaker",
    family="ice40",
    preset="tiny",
    clock=12e6,
    baud=1e6,
    part=("--up5k", "--package", "sg48"),
    capacity={"LUT": 5280, "FF": 5280, "DSP": 8, "block RAM": 30},
    clocking=None,
    leds=(("led_g", 0), ("led_g", 1), ("led_r", 0)),
    programmer="ice40_generic",
)

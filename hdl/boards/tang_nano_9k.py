"""Tang Nano 9K."""

from .board import Board

__all__ = ["TANG_NANO_9K"]

TANG_NANO_9K = Board(
    name="tang-nano-9k",
    title="Tang Nano 9K",
    family="gowin",
    preset="tiny",
    clock=27e6,
    baud=1e6,
    capacity={"LUT": 8640, "FF": 6480, "DSP": 20, "block RAM": 26},
    clocking=None,
    leds=(("led", 0), ("led", 1), ("led", 2)),
    programmer="tangnano9k",
)

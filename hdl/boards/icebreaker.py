"""iCEBreaker."""

from amaranth.build import Platform
from amaranth.hdl import Module, Signal
from amaranth_boards.icebreaker import ICEBreakerPlatform

from .board import Board

__all__ = ["ICEBREAKER"]


def _pins(m: Module, platform: Platform) -> tuple[Signal, Signal, list[Signal]]:
    platform.add_resources(platform.break_off_pmod)
    uart = platform.request("uart")
    life, link = (platform.request("led_g", number).o for number in range(2))
    return uart.rx.i, uart.tx.o, [life, link, platform.request("led_r").o]


ICEBREAKER = Board(
    name="icebreaker",
    title="iCEBreaker",
    family="ice40",
    preset="tiny",
    clock=12e6,
    baud=1e6,
    capacity={"LUT": 5280, "FF": 5280, "DSP": 8, "block RAM": 30},
    platform=ICEBreakerPlatform,
    clocking=None,
    pins=_pins,
    programmer="ice40_generic",
)

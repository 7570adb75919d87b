"""iCEBreaker."""

from amaranth.build import Platform
from amaranth.hdl import Module, Signal
from amaranth_boards.icebreaker import ICEBreakerPlatform

from .board import Board
from .pins import driven, sensed

__all__ = ["ICEBREAKER"]


def _pins(m: Module, platform: Platform) -> tuple[Signal, Signal, list[Signal]]:
    platform.add_resources(platform.break_off_pmod)
    uart = platform.request("uart", dir="-")
    lights = [("led_g", 0), ("led_g", 1), ("led_r", 0)]
    return (
        sensed(m, uart.rx),
        driven(m, uart.tx),
        [driven(m, platform.request(name, number, dir="-")) for name, number in lights],
    )


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

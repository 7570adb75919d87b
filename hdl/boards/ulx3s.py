"""ULX3S, with the large and the small FPGA."""

from dataclasses import replace

from amaranth.build import Platform
from amaranth.hdl import Module, Signal
from amaranth_boards.ulx3s import ULX3S_25F_Platform, ULX3S_85F_Platform

from .board import Board
from .ecp5_clock import Ecp5Clock
from .pins import driven, sensed

__all__ = ["ULX3S_25F", "ULX3S_85F"]


def _pins(m: Module, platform: Platform) -> tuple[Signal, Signal, list[Signal]]:
    uart = platform.request("uart", dir="-")
    m.d.comb += driven(m, platform.request("uart_tx_enable", dir="-")).eq(1)
    lights = [driven(m, platform.request("led", number, dir="-")) for number in range(3)]
    return sensed(m, uart.rx), driven(m, uart.tx), lights


ULX3S_85F = Board(
    name="ulx3s",
    title="ULX3S-85F",
    family="ecp5",
    preset="full",
    clock=50e6,
    baud=3e6,
    capacity={"LUT": 83640, "FF": 83640, "DSP": 156, "block RAM": 208},
    platform=ULX3S_85F_Platform,
    clocking=lambda domain: Ecp5Clock(domain, "clk25", multiple=2),
    pins=_pins,
    programmer="ulx3s",
)

ULX3S_25F = replace(
    ULX3S_85F,
    name="ulx3s-25f",
    title="ULX3S-25F",
    preset="small",
    capacity={"LUT": 24288, "FF": 24288, "DSP": 28, "block RAM": 56},
    platform=ULX3S_25F_Platform,
)

"""ULX3S, with the large and the small FPGA; the large one with granularity units, or all units."""

from dataclasses import replace

from .board import Board
from .ecp5_clock import Ecp5Clock

__all__ = ["ULX3S_25F", "ULX3S_85F", "ULX3S_85F_GRANULAR", "ULX3S_85F_WHOLE"]

#: Nextpnr's default router takes several times as long, or with most of the FPGA in use comes to no
#: end. Its default placer makes wires half as long again as the other one, and where there is room
#: it puts all into one half of the FPGA, and no router comes to an end.
_OPTIONS = ("--router", "router2", "--placer", "static")

#: The router takes up again what it has laid where a path is too slow. With ten slices that comes
#: to no end.
_TAKES_UP = "--tmg-ripup"

ULX3S_85F = Board(
    name="ulx3s",
    title="ULX3S-85F",
    family="ecp5",
    preset="full",
    clock=50e6,
    baud=3e6,
    part=("--85k", "--package", "CABGA381", "--speed", "6"),
    options=(*_OPTIONS, _TAKES_UP),
    capacity={"LUT": 83640, "FF": 83640, "DSP": 156, "block RAM": 208},
    clocking=lambda domain: Ecp5Clock(domain, "clk25", multiple=2),
    leds=(("led", 0), ("led", 1), ("led", 2)),
    programmer="ulx3s",
)

ULX3S_25F = replace(
    ULX3S_85F,
    name="ulx3s-25f",
    title="ULX3S-25F",
    preset="small",
    part=("--25k", "--package", "CABGA381", "--speed", "6"),
    capacity={"LUT": 24288, "FF": 24288, "DSP": 28, "block RAM": 56},
)

ULX3S_85F_GRANULAR = replace(
    ULX3S_85F,
    name="ulx3s-granular",
    title="ULX3S-85F, granular",
    preset="wide",
    options=_OPTIONS,
)

ULX3S_85F_WHOLE = replace(
    ULX3S_85F,
    name="ulx3s-whole",
    title="ULX3S-85F, whole",
    preset="whole",
)

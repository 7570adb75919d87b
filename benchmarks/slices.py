"""How large and how fast the units of switchable precision are alone, over three seeds.

The slice and the dot product on an ECP5; the granularity unit of integers alone on an iCE40UP5K.
"""

import sys
from typing import Any

from _report import report
from rich.console import Console

from adagrain.hdl.toolchain import place_alone

BOARD = "ulx3s"
UNITS = ("slice", "dot_product")
MEGAHERTZ = 100

#: Goals for the slice; peers measured with the same flow and FPGA: LUT, DSP, MHz.
LUTS, DSPS, SLOWEST = 6400, 4, 80
PEERS = {
    "CVFPU, FP32 | 2 FP16 | 2 BF16 | 4 FP8": [6477, 11, 29.6],
    "HardFloat, FP32 alone": [2924, 4, 52.3],
}

#: The unit of integers alone: where, the clock that is asked for, and its INT8 products per cycle.
SMALL_BOARD, SMALL_MEGAHERTZ, PRODUCTS = "icebreaker", 50, 16
#: Its peer on the same FPGA: logic cells, DSP, MHz, million INT8 products per second.
SMALL_PEER = {"MARLANN, INT8 alone, programmable": [4093, 8, 29.5, 471]}


def main() -> None:
    console = Console()
    figures: dict[str, Any] = {"board": BOARD}
    for unit in UNITS:
        with console.status("") as status:
            placed = place_alone(unit, BOARD, MEGAHERTZ, progress=status.update)
        for name in ("LUT", "FF", "DSP"):
            figures[f"{unit} {name}"] = placed[0].usage[name]
        figures[f"{unit} MHz"] = [round(row.megahertz, 1) for row in placed]
    figures |= {f"peer: {name}": row for name, row in PEERS.items()}
    figures |= of_integers(console)
    report("slices", figures)
    small = figures["slice LUT"] <= LUTS and figures["slice DSP"] == DSPS
    if not small or min(figures["slice MHz"]) < SLOWEST:
        sys.exit(f"the slice must have at most {LUTS} LUTs, {DSPS} DSPs, and {SLOWEST} MHz")
    rate = SMALL_PEER["MARLANN, INT8 alone, programmable"][-1]
    if min(figures["granularity_unit INT8 M MAC/s"]) <= rate:
        sys.exit(f"the granularity unit must have more than {rate} M MAC/s of INT8")


def of_integers(console: Console) -> dict[str, Any]:
    """Figures of the granularity unit on the small FPGA."""
    with console.status("") as status:
        placed = place_alone(
            "granularity_unit", SMALL_BOARD, SMALL_MEGAHERTZ, progress=status.update
        )
    figures: dict[str, Any] = {"small board": SMALL_BOARD}
    for name in ("LUT", "DSP", "block RAM"):
        figures[f"granularity_unit {name}"] = placed[0].usage[name]
    figures["granularity_unit MHz"] = [round(row.megahertz, 1) for row in placed]
    rates = [round(PRODUCTS * row.megahertz) for row in placed]
    figures["granularity_unit INT8 M MAC/s"] = rates
    return figures | {f"peer: {name}": row for name, row in SMALL_PEER.items()}


if __name__ == "__main__":
    main()

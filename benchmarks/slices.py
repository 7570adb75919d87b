"""How large and how fast the units of switchable precision are alone, over three seeds."""

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


def main() -> None:
    console = Console()
    figures: dict[str, Any] = {"board": BOARD}
    for unit in UNITS:
        with console.status("") as status:
            placed = place_alone(unit, BOARD, MEGAHERTZ, progress=status.update)
        for name in ("LUT", "FF", "DSP"):
            figures[f"{unit} {name}"] = placed[0].usage[name]
        figures[f"{unit} MHz"] = [round(row.megahertz, 1) for row in placed]
    report("slices", figures | {f"peer: {name}": row for name, row in PEERS.items()})
    small = figures["slice LUT"] <= LUTS and figures["slice DSP"] == DSPS
    if not small or min(figures["slice MHz"]) < SLOWEST:
        sys.exit(f"the slice must have at most {LUTS} LUTs, {DSPS} DSPs, and {SLOWEST} MHz")


if __name__ == "__main__":
    main()

"""Size and clock of the units of switchable precision alone, over three seeds.

The slice, the dot product and what rescales on an ECP5; the granularity unit of integers alone on
an iCE40UP5K.
"""

import argparse
import sys
from dataclasses import dataclass
from typing import Any

from _report import recorded, report
from rich.console import Console

from adagrain.hdl.flow import place_alone


@dataclass(frozen=True)
class Alone:
    """A unit on a board's FPGA, with nothing else.

    Parameters
    ----------
    unit, board : str
        Keys of their tables.
    megahertz : float
        Clock that is asked for.
    products : int
        INT8 products per cycle.
    """

    unit: str
    board: str
    megahertz: float
    products: int = 0


UNITS = (
    Alone("slice", "ulx3s", 100, 4),
    Alone("dot_product", "ulx3s", 100, 4),
    Alone("rescale", "ulx3s", 120),
    Alone("granularity_unit", "icebreaker", 50, 16),
)

#: Goals for the slice.
LUTS, DSPS, SLOWEST = 6400, 4, 80

#: Peers, measured with the same flow on the same FPGAs.
PEERS: dict[str, dict[str, Any]] = {
    "CVFPU, FP32 or 2 FP16 or 2 BF16 or 4 FP8": {
        "board": "ulx3s",
        "LUT": 6477,
        "DSP": 11,
        "MHz": [29.6],
    },
    "HardFloat, FP32 alone": {"board": "ulx3s", "LUT": 2924, "DSP": 4, "MHz": [52.3]},
    "MARLANN, INT8 alone, programmable": {
        "board": "icebreaker",
        "LUT": 4093,
        "DSP": 8,
        "MHz": [29.5],
        "INT8 M MAC/s": [471],
    },
}


def main() -> None:
    """Place and route those that are named, or all."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    names = [row.unit for row in UNITS]
    parser.add_argument("units", nargs="*", choices=[[], *names], default=[], metavar="UNIT")
    chosen = parser.parse_args().units or names
    console, units = Console(), recorded("slices")
    for row in UNITS:
        if row.unit in chosen:
            with console.status("") as status:
                units[row.unit] = placed(row, status)
    report("slices", {**units, **PEERS})
    alone = units["slice"]
    small = alone["LUT"] <= LUTS and alone["DSP"] == DSPS
    if not small or min(alone["MHz"]) < SLOWEST:
        sys.exit(f"the slice must have at most {LUTS} LUTs, {DSPS} DSPs, and {SLOWEST} MHz")
    (rate,) = PEERS["MARLANN, INT8 alone, programmable"]["INT8 M MAC/s"]
    if min(units["granularity_unit"]["INT8 M MAC/s"]) <= rate:
        sys.exit(f"the granularity unit must have more than {rate} M MAC/s of INT8")


def placed(row: Alone, status: Any) -> dict[str, Any]:
    """Figures of a unit."""
    found = place_alone(row.unit, row.board, row.megahertz, progress=status.update)
    rates = [report.megahertz for report in found]
    figures: dict[str, Any] = {"board": row.board}
    figures |= {name: found[0].usage[name] for name in ("LUT", "DSP")}
    figures["MHz"] = [round(rate, 1) for rate in rates]
    if row.products:
        figures["INT8 M MAC/s"] = [round(row.products * rate) for rate in rates]
    return figures


if __name__ == "__main__":
    main()

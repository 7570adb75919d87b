"""Size and clock of the units of switchable precision alone, over three seeds.

The slice, the dot product and what rescales on an ECP5; the granularity unit of integers alone on
an iCE40UP5K. Exits with status 1 where one has become larger or slower than it is recorded; such
figures are kept with ``--record`` alone.
"""

import argparse
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from statistics import median
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

#: The part by which LUTs may be more, and the median clock less, than what is recorded.
MARGIN = 0.03

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
    parser.add_argument("--record", action="store_true", help="keep the figures, if worse too")
    options = parser.parse_args()
    console, before = Console(), recorded("slices")
    now = dict(before)
    for row in UNITS:
        if row.unit in (options.units or names):
            with console.status("") as status:
                now[row.unit] = placed(row, status)
    worse = [
        f"{row.unit}: {what}"
        for row in UNITS
        if row.unit in before
        for what in fallen_behind(now[row.unit], before[row.unit])
    ]
    whole = options.record or not worse
    report("slices", {**now, **PEERS}, whole=whole, keep="--record")
    sys.exit("; ".join(worse) or None)


def fallen_behind(now: Mapping[str, Any], before: Mapping[str, Any]) -> Iterator[str]:
    """What of a unit is beyond the margin."""
    most = (1 + MARGIN) * before["LUT"]
    if now["LUT"] > most:
        yield f"LUTs must be at most {most:.0f}, not {now['LUT']}"
    least, reached = (1 - MARGIN) * median(before["MHz"]), median(now["MHz"])
    if reached < least:
        yield f"the median clock must be at least {least:.1f} MHz, not {reached:.1f}"


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

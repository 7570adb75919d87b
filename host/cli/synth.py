"""``adagrain synth``: how large a unit is on a board's FPGA."""

from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table

from .boards import BoardName
from .errors import told
from .recorded import (
    RECORDED,
    Record,
    Recorded,
    change,
    check_recorded,
    read_recorded,
    write_recorded,
)

if TYPE_CHECKING:
    from adagrain.hdl.flow.report import Report

__all__ = ["synth"]


def synth(
    unit: Annotated[
        str,
        typer.Argument(help="As slice, link, coprocessor; a wrong name lists all.", metavar="UNIT"),
    ] = "coprocessor",
    board: BoardName = "ulx3s",
    place: Annotated[
        bool, typer.Option("--place", help="Place and route it alone too: how fast it is.")
    ] = False,
    mhz: Annotated[float, typer.Option(help="Clock that is asked for with --place.", min=1)] = 100,
    recorded: Recorded = RECORDED,
    record: Record = False,
) -> None:
    """Synthesise a unit for a board; show what it takes of the FPGA, and what has changed.

    Example: adagrain synth slice --board ulx3s --place
    """
    from adagrain.hdl.boards import BOARDS
    from adagrain.hdl.flow import place_alone, synthesise

    console = Console()
    with told():
        check_recorded(recorded, record)
        with console.status(f"synthesising {unit} for {board} …"):
            usage: dict[str, float] = dict(synthesise(unit, board))
        before = read_recorded(recorded, board, unit)
        table = Table("resource", "used", "of", "", "change", title=f"{unit} on {board}")
        for resource, used in usage.items():
            capacity = BOARDS[board].capacity[resource]
            share = f"{used / capacity:.1%}"
            changed = change(used, before.get(resource))
            table.add_row(resource, f"{used:,}", f"{capacity:,}", share, changed)
        console.print(table)
        if place:
            with console.status("") as status:
                reports = place_alone(unit, board, mhz, progress=status.update)
            console.print(_placed(unit, board, reports))
            usage |= {f"MHz, seed {report.seed}": round(report.megahertz, 1) for report in reports}
        if record:
            console.print(f"recorded in {write_recorded(recorded, board, unit, usage)}")


def _placed(unit: str, board: str, reports: "list[Report]") -> Table:
    """Table of a unit's place and route, a row for each seed."""
    table = Table("seed", *reports[0].usage, "MHz", title=f"{unit} alone on {board}, placed")
    for report in reports:
        table.add_row(
            str(report.seed), *map("{:,}".format, report.usage.values()), f"{report.megahertz:.1f}"
        )
    return table

"""``adagrain synth``: how large a unit is on a board's FPGA."""

from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from .errors import told
from .recorded import RECORDED, Record, Recorded, change, read_recorded, write_recorded

__all__ = ["synth"]


def synth(
    unit: Annotated[
        str,
        typer.Argument(help="statistics, region_manager, link or coprocessor.", metavar="UNIT"),
    ] = "coprocessor",
    board: Annotated[
        str, typer.Option(help="ulx3s, ulx3s-25f, icebreaker or tang-nano-9k.")
    ] = "ulx3s",
    recorded: Recorded = RECORDED,
    record: Record = False,
) -> None:
    """Synthesise a unit for a board; show what it takes of the FPGA, and what has changed.

    Example: adagrain synth region_manager --board icebreaker
    """
    from adagrain.hdl.boards import BOARDS
    from adagrain.hdl.toolchain import synthesise

    console = Console()
    with told():
        with console.status(f"synthesising {unit} for {board} …"):
            usage = synthesise(unit, board)
        before = read_recorded(recorded, board, unit)
        table = Table("resource", "used", "of", "", "change", title=f"{unit} on {board}")
        for resource, used in usage.items():
            capacity = BOARDS[board].capacity[resource]
            share = f"{used / capacity:.1%}"
            changed = change(used, before.get(resource))
            table.add_row(resource, f"{used:,}", f"{capacity:,}", share, changed)
        console.print(table)
        if record:
            console.print(f"recorded in {write_recorded(recorded, board, unit, usage)}")

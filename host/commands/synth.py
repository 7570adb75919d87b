"""``adagrain synth``: how large a unit is on a board's FPGA."""

from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from .errors import told

__all__ = ["synth"]


def synth(
    unit: Annotated[
        str,
        typer.Argument(help="statistics, region_manager, link or coprocessor.", metavar="UNIT"),
    ] = "coprocessor",
    board: Annotated[str, typer.Option(help="ulx3s, ulx3s-25f or icebreaker.")] = "ulx3s",
) -> None:
    """Synthesise a unit for a board and show what it takes of the FPGA.

    Example: adagrain synth region_manager --board icebreaker
    """
    from adagrain.hdl.boards import BOARDS
    from adagrain.hdl.toolchain import synthesise

    console = Console()
    with told():
        with console.status(f"synthesising {unit} for {board} …"):
            usage = synthesise(unit, board)
        table = Table("resource", "used", "of", "", title=f"{unit} on {board}")
        for resource, used in usage.items():
            capacity = BOARDS[board].capacity[resource]
            table.add_row(resource, f"{used:,}", f"{capacity:,}", f"{used / capacity:.1%}")
        console.print(table)

"""``adagrain bitstream`` and ``program``: from gateware to a running board."""

import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
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
    from adagrain.hdl.boards import Board
    from adagrain.hdl.flow import Report

__all__ = ["bitstream", "program"]

Folder = Annotated[Path, typer.Option(help="Where all files go, in a folder per board.")]

#: Name of the figures of place and route, beside those of units.
_FIGURES = "bitstream"


def bitstream(
    board: BoardName = "ulx3s",
    folder: Folder = Path("build/boards"),
    recorded: Recorded = RECORDED,
    record: Record = False,
) -> None:
    """Build a board's bitstream; at most three seeds of place and route are tried.

    The recorded one comes first. What place and route say is kept as JSON in the folder, and
    compared with what is recorded.
    The exit status is 1 where timing is not met, or the device does not fit.

    Example: adagrain bitstream --board ulx3s-25f
    """
    from adagrain.hdl.flow import SEEDS, build

    console = Console()
    with told():
        check_recorded(recorded, record)
        chosen = _board(board)
        console.print(f"{chosen.title}, device preset {chosen.preset}: some minutes")
        before = read_recorded(recorded, board, _FIGURES)
        seeds = sorted(SEEDS, key=lambda seed: seed != before.get("seed"))
        columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
        with Progress(*columns, console=console) as progress:
            task = progress.add_task("")

            def show(text: str) -> None:
                progress.update(task, description=text)
                if text.startswith("seed"):
                    progress.print(text)

            made = build(chosen, folder / board, seeds=seeds, progress=show)
        figures = made.report.recorded()
        write_recorded(folder, board, _FIGURES, figures)
        console.print(_table(chosen, made.report, before))
        for path in made.report.slow_paths:
            console.print(f"slowest path: {path}", soft_wrap=True)
        if record:
            console.print(f"recorded in {write_recorded(recorded, board, _FIGURES, figures)}")
        console.print(f"bitstream: {made.path}")
    if not made.report.meets_timing:
        console.print("[bold red]timing is not met")
        raise typer.Exit(1)


def program(
    board: BoardName = "ulx3s",
    folder: Folder = Path("build/boards"),
    flash: Annotated[bool, typer.Option(help="Keep it over power cycles.")] = False,
    dry_run: Annotated[bool, typer.Option(help="Show the command, do nothing.")] = False,
) -> None:
    """Load a bitstream into a board through openFPGALoader.

    Example: adagrain program --board ulx3s --dry-run
    """
    from adagrain.hdl.flow.families import FAMILIES
    from adagrain.hdl.flow.tools import find

    console = Console()
    with told():
        chosen = _board(board)
        path = folder / board / FAMILIES[chosen.family].product
        if not path.is_file():
            raise ValueError(
                f"there must be a bitstream in {folder / board}, but there is none; "
                f"make it: adagrain bitstream --board {board}"
            )
        command = [
            find("OPENFPGALOADER"),
            "--board",
            chosen.programmer,
            "--write-flash" if flash else "--write-sram",
            str(path),
        ]
        console.print(" ".join(command), soft_wrap=True)
        if not dry_run and subprocess.run(command, check=False).returncode:
            raise RuntimeError(f"{chosen.title} could not be programmed; openFPGALoader says why")


def _board(name: str) -> "Board":
    from adagrain.hdl.boards import BOARDS

    if name not in BOARDS:
        raise ValueError(f"board must be one of {', '.join(BOARDS)}, not {name!r}")
    return BOARDS[name]


def _table(board: "Board", report: "Report", before: dict[str, Any]) -> Table:
    table = Table("", "used", "of", "", "change", title=f"{board.title}, seed {report.seed}")
    for resource, used in report.usage.items():
        capacity = board.capacity[resource]
        changed = change(used, before.get("usage", {}).get(resource))
        table.add_row(resource, f"{used:,}", f"{capacity:,}", f"{used / capacity:.1%}", changed)
    for name, clock in report.clocks.items():
        changed = change(clock.reached, before.get("clocks", {}).get(name, {}).get("reached"), 1)
        mark = "[green]met" if clock.reached >= clock.wanted else "[bold red]missed"
        table.add_row(
            f"MHz of {name}", f"{clock.reached:.1f}", f"{clock.wanted:.1f}", mark, changed
        )
    return table

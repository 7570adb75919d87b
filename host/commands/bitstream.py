"""``adagrain bitstream`` and ``program``: from gateware to a running board."""

import json
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

from .errors import told

if TYPE_CHECKING:
    from adagrain.hdl.boards import Board
    from adagrain.hdl.toolchain import Report

__all__ = ["bitstream", "program"]

BoardName = Annotated[str, typer.Option(help="ulx3s, ulx3s-25f or icebreaker.")]
Folder = Annotated[Path, typer.Option(help="Where all files go, in a folder per board.")]

#: What an earlier build said, to show what has changed since.
_REPORT = "report-of-build.json"


def bitstream(board: BoardName = "ulx3s", folder: Folder = Path("build/boards")) -> None:
    """Build a board's bitstream; at most three seeds of place and route are tried.

    The exit status is 1 where timing is not met, or the device does not fit.

    Example: adagrain bitstream --board ulx3s-25f
    """
    from adagrain.hdl.toolchain import build

    console = Console()
    with told():
        chosen = _board(board)
        console.print(f"{chosen.title}, preset {chosen.preset}: some minutes")
        columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
        with Progress(*columns, console=console) as progress:
            task = progress.add_task("")

            def show(text: str) -> None:
                progress.update(task, description=text)

            made = build(chosen, folder / board, progress=show)
        record = folder / board / _REPORT
        before = json.loads(record.read_text()) if record.exists() else {}
        record.write_text(json.dumps(made.report.recorded(), indent=2) + "\n")
        console.print(_table(chosen, made.report, before))
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
    from adagrain.hdl.toolchain.tools import find

    console = Console()
    with told():
        chosen = _board(board)
        found = [path for path in (folder / board).glob("top.bi[tn]") if path.is_file()]
        if not found:
            raise ValueError(
                f"there must be a bitstream in {folder / board}, but there is none; "
                f"make it: adagrain bitstream --board {board}"
            )
        command = [
            find("OPENFPGALOADER"),
            "--board",
            chosen.programmer,
            "--write-flash" if flash else "--write-sram",
            str(found[0]),
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
    table = Table("", "used", "of", "", "before", title=f"{board.title}, seed {report.seed}")
    for resource, used in report.usage.items():
        capacity = board.capacity[resource]
        earlier = before.get("usage", {}).get(resource)
        change = "" if earlier is None else f"{used - earlier:+,}"
        table.add_row(resource, f"{used:,}", f"{capacity:,}", f"{used / capacity:.1%}", change)
    for name, clock in report.clocks.items():
        earlier = before.get("clocks", {}).get(name)
        change = "" if earlier is None else f"{clock.reached - earlier['reached']:+.1f}"
        mark = "[green]met" if clock.reached >= clock.wanted else "[bold red]missed"
        table.add_row(f"MHz of {name}", f"{clock.reached:.1f}", f"{clock.wanted:.1f}", mark, change)
    return table

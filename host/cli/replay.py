"""``adagrain replay``: a recorded run, shown, run again, and decided on again by the RTL."""

import json
import random
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from .errors import tell, told

__all__ = ["replay"]

#: Signs in which the states of a region are shown.
_WIDTH = 28


def replay(
    folder: Annotated[
        Path, typer.Argument(help="Folder of a recorded run, or of a recording.", metavar="FOLDER")
    ],
    show: Annotated[
        bool, typer.Option("--show", help="Show what was recorded; nothing is run again.")
    ] = False,
    rtl: Annotated[
        bool,
        typer.Option("--rtl", help="Have the compiled RTL decide again in each recorded step."),
    ] = False,
    seed: Annotated[
        int | None,
        typer.Option(help="With --rtl: seed of its idling.", show_default="a new one"),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Write JSON, and no tables.")] = False,
) -> None:
    """Run a recorded speculative run again, and compare it to the bit.

    Record one with adagrain train --preset speculate --record-run. What is run again leaves its
    files in FOLDER/replay. The exit status is 0 where all is the same, 1 where something differs,
    2 where an argument or file is wrong.

    Example: adagrain replay runs/first
    """
    from adagrain.host.train.recorded_run import recorded_run
    from adagrain.host.train.recording import recording_in
    from adagrain.models.interface.recording import file_of

    console = Console(quiet=as_json)
    with told():
        if seed is not None and not rtl:
            raise ValueError("--seed must be given with --rtl")
        recording = recording_in(folder)
        if recording == folder and not show and file_of(folder, 0).is_file():
            raise ValueError(
                f"{folder} must be the folder of a run to be run again, not that of a recording; "
                "with --show that will do"
            )
        found = recorded_run(recording)
        console.print(_table(folder, found))
        same = True
        if rtl:
            found["rtl"] = _recomputed(recording, seed)
            same = not found["rtl"]["mismatches"]
            console.print(_told_of_rtl(found["rtl"]))
        if not show:
            found["replay"] = _replayed(folder)
            same &= found["replay"]["identical"]
            console.print(_told_of_replay(found["replay"]))
    if as_json:
        print(json.dumps(found, indent=2))
    raise typer.Exit(0 if same else 1)


def _replayed(folder: Path) -> dict[str, Any]:
    from adagrain.host.train.replayed import replay as run_again

    again = run_again(folder, say=Console(stderr=True).print)
    return {"identical": again.is_identical, **asdict(again), "folder": str(again.folder)}


def _recomputed(recording: Path, seed: int | None) -> dict[str, Any]:
    from adagrain.models.interface.recording import file_of
    from adagrain.sim.benches.region_manager.recomputed import recompute

    seed = random.SystemRandom().getrandbits(31) if seed is None else seed
    try:
        same = recompute(file_of(recording, 0), seed=seed)
    except AssertionError as error:
        tell(f"the RTL decides otherwise: {error}")
        return {"mismatches": 1, "seed": seed}
    return {"mismatches": 0, "seed": seed, **same._asdict()}


def _table(folder: Path, found: Mapping[str, Any]) -> Table:
    from adagrain.host.train.recorded_run import timeline

    missing = found["workers"] - found["files"]
    told_of = f" (files of {missing} are missing)" if missing else ""
    title = (
        f"{escape(str(folder))}: {found['workers']} workers{told_of}, {found['steps']} steps, "
        f"{found['epochs']} decision epochs; stall {found['stall']:.2f} s, "
        f"redo {found['redo']:.2f} s of all workers"
    )
    caption = "· GLOBAL  ▒ HYBRID  █ FULL"
    table = Table(
        *("region", "states over the steps", "guesses", "accepted", "α at the end"),
        title=title,
        caption=caption,
        title_justify="left",
    )
    for name, own in found["regions"].items():
        rate = f"{own['accepts'] / own['guesses']:.1%}" if own["guesses"] else ""
        line = timeline(own["states"], found["steps"], _WIDTH, first=found["first"])
        table.add_row(escape(name), line, f"{own['guesses']:,}", rate, f"{own['alpha']:.3f}")
    return table


def _told_of_rtl(found: Mapping[str, Any]) -> str:
    if found["mismatches"]:
        return f"RTL: [bold red]DIFFERS[/], seed {found['seed']}"
    return (
        f"RTL: [green]0 mismatches[/] in {found['decisions']:,} decisions of {found['epochs']:,} "
        f"decision epochs, {found['steps']:,} steps, {found['cycles']:,} cycles, seed "
        f"{found['seed']}"
    )


def _told_of_replay(found: Mapping[str, Any]) -> str:
    if found["identical"]:
        return f"replay: [green]identical to the bit[/], SHA-256 {found['weights_sha256']}"
    return (
        f"replay: [bold red]DIFFERS[/], SHA-256 {found['weights_sha256']}, recorded "
        f"{found['recorded_sha256']}"
    )

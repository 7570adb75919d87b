"""A recorded run: states and guesses of its regions, over time."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from adagrain.models.interface.recording import Kind, file_of, read_entries, workers_of
from adagrain.models.interface.units.region_manager import SpeculationState

__all__ = ["recorded_run", "timeline"]

#: A sign for each state, in lines that show many.
_SIGNS = dict(zip(SpeculationState, "·▒█", strict=True))

#: One more than the largest α.
_ONE = 1 << 16


def recorded_run(recording: Path) -> dict[str, Any]:
    """A recording as plain values; all workers together.

    Returns
    -------
    dict
        ``workers``; ``files`` of theirs that there are, counted from the first one on; ``steps``
        that were decided on, and the ``first`` of them; ``epochs`` that they close; ``stall`` and
        ``redo``, sums over workers and steps in which a region is due, in seconds; ``regions``: for
        each its ``states`` as [first step, state] where it changes, ``guesses``, ``accepts``, and
        ``alpha`` at the end.

    Raises
    ------
    RecordingError
        If it cannot be read.
    """
    files = workers_of(recording)
    entries = read_entries(file_of(recording, 0))
    header = next(entries)
    decided = [entry for entry in entries if entry["kind"] == Kind.DECIDED]
    due = [[*entry["regions"].values()] for entry in decided if entry["regions"]]
    alike = [regions[0]["update"] for regions in due]
    names = dict.fromkeys(name for entry in decided for name in entry["regions"])
    return {
        "workers": header["workers"],
        "files": files,
        "steps": len(decided),
        "first": decided[0]["step"] if decided else 0,
        "epochs": sum(update["decide"] for update in alike),
        "stall": sum(update["stall"] for update in alike) / 1e6,
        "redo": sum(update["redo"] for update in alike) / 1e6,
        "regions": {name: _region(name, decided) for name in names},
    }


def timeline(states: Iterable[tuple[int, str]], steps: int, width: int, *, first: int = 0) -> str:
    """States over the steps, as a line of signs: · GLOBAL, ▒ HYBRID, █ FULL.

    Parameters
    ----------
    states : iterable of tuple
        As :func:`recorded_run` gives them.
    steps, first : int
        How many steps, and which is the first.
    width : int
        Signs of the line; each shows the last state of its part of the steps.
    """
    changes = dict(states)
    signs, now = [], SpeculationState.GLOBAL
    for step in range(first, first + steps):
        if step in changes:
            now = SpeculationState[changes[step]]
        signs.append(_SIGNS[now])
    width = min(width, steps)
    return "".join(signs[(part + 1) * steps // width - 1] for part in range(width))


def _region(name: str, decided: Iterable[dict[str, Any]]) -> dict[str, Any]:
    rows = [
        (entry["step"], entry["regions"][name]) for entry in decided if name in entry["regions"]
    ]
    states: list[tuple[int, str]] = []
    for step, own in rows:
        state = SpeculationState(own["decision"]["state"]).name
        if not states or states[-1][1] != state:
            states.append((step, state))
    return {
        "states": states,
        "guesses": sum(own["update"].get("trials", 0) for _, own in rows),
        "accepts": sum(own["update"].get("accepts", 0) for _, own in rows),
        "alpha": rows[-1][1]["decision"]["alpha"] / _ONE,
    }

"""The end of every benchmark: its figures as JSON and as a table."""

import json
import platform
import sys
from collections.abc import Collection, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

__all__ = ["RESULTS", "check_replaces", "recorded", "report"]

RESULTS = Path(__file__).parent / "results"

Figure = float | int | str | bool | list[float] | list[int] | Mapping[str, Any]


def report(name: str, figures: Mapping[str, Figure], *, whole: bool = True, keep: str = "") -> None:
    """Write ``benchmarks/results/<name>.json`` and print the same as a table.

    Parameters
    ----------
    name : str
        The benchmark's name.
    figures : dict of str to number or text
        What was measured; the unit is part of the key, as in ``seconds`` or ``bytes_ratio``. A
        mapping of such figures is shown in one row, its lists aside.
    whole : bool
        False of a run that leaves something out, or was not meant to be kept: the figures are
        shown, and the record stays as it is.
    keep : str
        The option that would have kept them, where the benchmark has one.
    """
    _show(name, figures)
    if not whole:
        why = f"{keep} keeps it" if keep else "this run leaves something out"
        print(f"nothing was kept: {why}")
        return
    RESULTS.mkdir(exist_ok=True)
    facts = {"machine": platform.machine(), "python": platform.python_version()}
    facts["torch"] = version("torch")
    text = json.dumps({**figures, "on": facts}, indent=2)
    (RESULTS / f"{name}.json").write_text(f"{text}\n")


def recorded(name: str) -> dict[str, Any]:
    """The figures of a record, if there is one."""
    path = RESULTS / f"{name}.json"
    found: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    found.pop("on", None)
    return found


def check_replaces(name: str, rows: Collection[str], runs: int, steps: int | None = None) -> None:
    """Refuse to replace a record by one of less; to be called before anything is measured.

    Parameters
    ----------
    name : str
        The record's.
    rows : collection of str
        Keys of the figures that are to be in it, each a mapping whose first list has a figure of
        each run.
    runs : int
        How many runs a row is of.
    steps : int or None
        Of a run, if rows tell them.

    Raises
    ------
    SystemExit
        If the record that there is has another row, or more runs of one, or longer ones.
    """
    before = {row: own for row, own in recorded(name).items() if isinstance(own, Mapping)}
    if lost := [row for row in before if row not in rows]:
        sys.exit(f"what replaces record {name} must have {', '.join(lost)}, too")
    lists = (next((v for v in own.values() if isinstance(v, list)), []) for own in before.values())
    if runs < (most := max(map(len, lists), default=0)):
        sys.exit(f"what replaces record {name} must have {most} runs of a way or more, not {runs}")
    longest = max((own.get("steps", 0) for own in before.values()), default=0)
    if steps is not None and steps < longest:
        sys.exit(f"what replaces record {name} must have {longest} steps or more, not {steps}")


def _show(name: str, figures: Mapping[str, Figure]) -> None:
    table = Table("figure", "value", title=name)
    for key, value in figures.items():
        table.add_row(key, _shown(value))
    Console().print(table)


def _shown(value: Figure) -> str:
    if isinstance(value, Mapping):
        parts = ((name, part) for name, part in value.items() if not isinstance(part, list))
        return ", ".join(f"{name} {_shown(part)}" for name, part in parts)
    return f"{value:,.4g}" if isinstance(value, float) else str(value)

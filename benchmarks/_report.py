"""The end of every benchmark: its figures as JSON and as a table."""

import json
import platform
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

__all__ = ["RESULTS", "recorded", "report", "show"]

RESULTS = Path(__file__).parent / "results"

Figure = float | int | str | bool | list[float] | list[int] | Mapping[str, Any]


def report(name: str, figures: Mapping[str, Figure]) -> None:
    """Write ``benchmarks/results/<name>.json`` and print the same as a table.

    Parameters
    ----------
    name : str
        The benchmark's name.
    figures : dict of str to number or text
        What was measured; the unit is part of the key, as in ``seconds`` or ``bytes_ratio``. A
        mapping of such figures is shown in one row, its lists aside.
    """
    RESULTS.mkdir(exist_ok=True)
    facts = {"machine": platform.machine(), "python": platform.python_version()}
    text = json.dumps({**figures, "on": facts}, indent=2)
    (RESULTS / f"{name}.json").write_text(f"{text}\n")
    show(name, figures)


def recorded(name: str) -> dict[str, Any]:
    """The figures of a record, if there is one."""
    path = RESULTS / f"{name}.json"
    found: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    found.pop("on", None)
    return found


def show(name: str, figures: Mapping[str, Figure]) -> None:
    """Print figures as a table, and write nothing."""
    table = Table("figure", "value", title=name)
    for key, value in figures.items():
        table.add_row(key, _shown(value))
    Console().print(table)


def _shown(value: Figure) -> str:
    if isinstance(value, Mapping):
        parts = ((name, part) for name, part in value.items() if not isinstance(part, list))
        return ", ".join(f"{name} {_shown(part)}" for name, part in parts)
    return f"{value:,.4g}" if isinstance(value, float) else str(value)

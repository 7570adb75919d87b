"""What every benchmark ends with: its figures as JSON and as a table."""

import json
import platform
from collections.abc import Mapping
from pathlib import Path

from rich.console import Console
from rich.table import Table

__all__ = ["report"]

RESULTS = Path(__file__).parent / "results"

Figure = float | int | str | bool | list[float] | list[int]


def report(name: str, figures: Mapping[str, Figure]) -> None:
    """Write ``benchmarks/results/<name>.json`` and print the same as a table.

    Parameters
    ----------
    name : str
        The benchmark's name.
    figures : dict of str to number or text
        What was measured; the unit is part of the key, as in ``seconds`` or ``bytes_ratio``.
    """
    RESULTS.mkdir(exist_ok=True)
    facts = {"machine": platform.machine(), "python": platform.python_version()}
    text = json.dumps({**figures, "on": facts}, indent=2)
    (RESULTS / f"{name}.json").write_text(f"{text}\n")
    table = Table("figure", "value", title=name)
    for key, value in figures.items():
        table.add_row(key, f"{value:,.4g}" if isinstance(value, float) else str(value))
    Console().print(table)

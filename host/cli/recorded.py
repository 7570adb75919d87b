"""Figures of a board, kept as JSON in the repository to be compared with."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

__all__ = [
    "RECORDED",
    "Record",
    "Recorded",
    "change",
    "check_recorded",
    "read_recorded",
    "write_recorded",
]

RECORDED = Path("benchmarks/results/boards")

Recorded = Annotated[Path, typer.Option(help="Folder of the recorded figures, a file per board.")]
Record = Annotated[bool, typer.Option("--record", help="Make these the recorded figures.")]


def check_recorded(folder: Path, record: bool) -> None:
    """See to it that figures can be recorded, before minutes are spent on them.

    Raises
    ------
    FileNotFoundError
        If there is no folder for them, as outside a checkout of the project.
    """
    if record and not folder.is_dir():
        raise FileNotFoundError(
            f"--record needs the folder of the recorded figures, but there is no {folder}; run it "
            f"in a checkout of the project, or name the folder with --recorded"
        )


def read_recorded(folder: Path, board: str, name: str) -> dict[str, Any]:
    """Figures of that name; empty where there are none.

    Raises
    ------
    ValueError
        If the board's file is not what was recorded.
    """
    return _everything(folder / f"{board}.json").get(name, {})


def write_recorded(folder: Path, board: str, name: str, figures: Mapping[str, Any]) -> Path:
    """Replace the figures of that name, and keep the others; the file."""
    path = folder / f"{board}.json"
    everything = _everything(path)
    folder.mkdir(parents=True, exist_ok=True)
    content = json.dumps(everything | {name: figures}, indent=2, sort_keys=True)
    path.write_text(content + "\n")
    return path


def _everything(path: Path) -> dict[str, Any]:
    """All figures of a file, by their names."""
    try:
        found = json.loads(path.read_text()) if path.exists() else {}
    except json.JSONDecodeError as error:
        raise ValueError(f"{path} must be recorded figures in JSON, but is not: {error}") from None
    if not isinstance(found, dict):
        raise ValueError(f"{path} must be a JSON object of recorded figures, not {found!r}")
    return found


def change(now: float, before: float | None, digits: int = 0) -> str:
    """Difference of a figure from the recorded one, for a table."""
    return "" if before is None else f"{now - before:+,.{digits}f}"

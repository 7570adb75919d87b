"""What the tests of recordings share: runs of workers, what they find, and entries of files."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from process_groups import Ended

from adagrain.models.interface.recording import Kind

__all__ = ["Entry", "Runs", "first", "found", "write"]

Runs = Callable[..., list[Ended]]
Entry = dict[str, Any]


def found(ended: list[Ended]) -> list[list[Entry]]:
    """What workers have found, by rank, for each run; all have ended well."""
    for worker in ended:
        assert worker.returncode == 0, worker.stderr[-3000:]
    by_rank = [[json.loads(line) for line in own.stdout.splitlines()] for own in ended]
    return [list(ranks) for ranks in zip(*by_rank, strict=True)]


def first(entries: list[Entry], kind: Kind, number: int = 0) -> Entry:
    return [entry for entry in entries if entry["kind"] == kind][number]


def write(path: Path, entries: list[Entry]) -> Path:
    path.write_text("".join(f"{json.dumps(entry)}\n" for entry in entries))
    return path

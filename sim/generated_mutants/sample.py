"""Draws mutants."""

import random
from collections.abc import Iterator
from pathlib import Path

from .mutations import Mutation, mutations

__all__ = ["FOLDERS", "drawn"]

#: Whose sources are mutated.
FOLDERS = ("hdl", "models", "host")


def drawn(root: Path, folder: str, seed: int, only: str = "") -> Iterator[Mutation]:
    """Mutations of a folder in random order, no two of one line.

    Parameters
    ----------
    root : Path
        The project.
    folder : str
        ``hdl``, ``models`` or ``host``.
    seed : int
        Of the order.
    only : str
        What the file's name must contain.
    """
    files = sorted(str(path.relative_to(root)) for path in (root / folder).rglob("*.py"))
    found = [candidate for f in files if only in f for candidate in mutations(root, f)]
    random.Random(f"{seed} {folder}").shuffle(found)
    lines: set[tuple[str, int]] = set()
    for candidate in found:
        if (candidate.file, candidate.line) not in lines:
            lines.add((candidate.file, candidate.line))
            mutation = candidate.mutation()
            if mutation.diff:
                yield mutation

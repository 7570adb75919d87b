"""Random runs on random operands."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from adagrain.models.granularity_unit import MAX_SUM, ROWS, TileModel, TileResult
from adagrain.models.precision import Precision
from adagrain.sim.dot_product.traffic import sum_words

__all__ = ["Tile", "random_tile"]


@dataclass
class Tile:
    """A sum of one or more runs: for each, what is written before it, and what it is asked for.

    Parameters
    ----------
    writes : list of list of (int, int)
        For each run, addresses and words.
    runs : list of dict
        Fields of ``TileRun``.
    results : list of TileResult
        What comes out at the end.
    """

    writes: list[list[tuple[int, int]]] = field(default_factory=list)
    runs: list[dict[str, int]] = field(default_factory=list)
    results: list[TileResult] = field(default_factory=list)


def random_tile(
    model: TileModel,
    slices: int,
    rng: np.random.Generator,
    precisions: Sequence[Precision] = tuple(Precision),
) -> Tile:
    """A tile in one to three runs; the model does them too."""
    tile, capacity = Tile(), model.memory.words
    rows = ROWS if rng.integers(0, 2) else int(rng.integers(1, ROWS + 1))
    mode = Precision(int(rng.choice(precisions)))
    pieces = int(rng.choice([1, 1, 2, 3]))
    for piece in range(pieces):
        words = int(rng.integers(1, min(capacity // rows, MAX_SUM, 24) + 1))
        a_first = int(rng.integers(0, capacity - words * rows + 1))
        b_first = int(rng.integers(0, capacity - words + 1))
        writes = _numbered(a_first, _words(mode, words * rows, rng))
        for number in range(slices):
            writes += _numbered((number + 1) * capacity + b_first, _words(mode, words, rng))
        for address, word in writes:
            model.memory.write(address, np.array([word]))
        run = {"a_first": a_first, "b_first": b_first, "words": words, "rows": rows, "mode": mode}
        run |= {"first": int(piece == 0), "last": int(piece == pieces - 1)}
        tile.writes.append(writes)
        tile.runs.append(run)
        tile.results += model.run(run)
    return tile


def _words(mode: Precision, count: int, rng: np.random.Generator) -> list[int]:
    return [int(word) for word in sum_words(mode, count, rng)[0]]


def _numbered(first: int, words: list[int]) -> list[tuple[int, int]]:
    return list(enumerate(words, start=first))

"""Random runs on random operands."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from adagrain.models.granularity_unit import MAX_SUM, TileModel, TileResult, row_results
from adagrain.models.interface.precision import Precision
from adagrain.models.interface.units.granularity_unit import ROWS, Destination
from adagrain.models.rescale import EXPONENTS
from adagrain.sim.benches.dot_product.traffic import sum_words
from adagrain.sim.simulators.stimulus import Stimulus

__all__ = ["Tile", "random_tile", "short_runs"]


@dataclass
class Tile:
    """A sum of one or more runs: for each, what is written before it, and what it is asked for.

    Parameters
    ----------
    writes : list of list of (int, int)
        For each run, addresses and words.
    exponents : list of int
        That each slice has from then on.
    runs : list of dict
        Fields of ``TileRun``.
    results : list of TileResult
        What comes out to the link.
    beats : list of list of int
        What comes out of the data port.
    """

    writes: list[list[tuple[int, int]]] = field(default_factory=list)
    exponents: list[int] = field(default_factory=list)
    runs: list[dict[str, int]] = field(default_factory=list)
    results: list[TileResult] = field(default_factory=list)
    beats: list[list[int]] = field(default_factory=list)

    def stimuli(self) -> list[Stimulus]:
        """Words to write, and the run that they are for; behind the last ones, all other runs."""
        ports = {f"exponents__{number}": value for number, value in enumerate(self.exponents)}
        made = []
        for number, writes in enumerate(self.writes):
            words = [{"address": address, "word": word} for address, word in writes]
            made.append(Stimulus({"i_words": words}, ports=ports))
            made.append(Stimulus({"i": self.runs[number : number + 1]}))
        results = [result._asdict() for result in self.results]
        runs = self.runs[len(self.writes) - 1 :]
        return [*made[:-1], Stimulus({"i": runs}, {"o": results, "o_data": self.beats})]

    def deliver(self, run: dict[str, int], results: list[TileResult], model: TileModel) -> None:
        """Results where the run wants them."""
        if run["destination"] == Destination.LINK:
            self.results += results
        elif run["destination"] == Destination.MEMORY:
            model.keep(run, results)
        else:
            words = [number for result in results for number in result]
            words += [0] * (-len(words) % 4)
            self.beats += [words[at : at + 4] for at in range(0, len(words), 4)]


def random_tile(
    model: TileModel,
    slices: int,
    rng: np.random.Generator,
    precisions: Sequence[Precision] = tuple(Precision),
) -> Tile:
    """A tile in one to three runs; the model does them too.

    Two in three are rescaled, so that results are near the range of what they become. Results that
    become operands are those of a run more.
    """
    tile, capacity = Tile(), model.memory.words
    rows = ROWS if rng.integers(0, 2) else int(rng.integers(1, ROWS + 1))
    mode = Precision(int(rng.choice(precisions)))
    to = Precision(int(rng.choice(precisions)))
    scaling = {"scaled": int(rng.integers(0, 3) > 0), "to": to}
    tile.exponents = _exponents(mode, to, slices, rng)
    model.exponents = np.array(tile.exponents)
    blocks = int(rng.choice([1, 1, 2, 3]))
    for block in range(blocks):
        words = int(rng.integers(1, min(capacity // rows, MAX_SUM, 24) + 1))
        a_first = int(rng.integers(0, capacity - words * rows + 1))
        b_first = int(rng.integers(0, capacity - words + 1))
        parts = [_numbered(a_first, _words(mode, words * rows, rng))]
        for number in range(slices):
            parts.append(_numbered((number + 1) * capacity + b_first, _words(mode, words, rng)))
        writes = [write for part in rng.permutation(len(parts)) for write in parts[part]]
        for address, word in writes:
            model.memory.write(address, np.array([word]))
        run = {"a_first": a_first, "b_first": b_first, "words": words, "rows": rows, "mode": mode}
        run |= {"first": int(block == 0), "last": int(block == blocks - 1)} | scaling
        run |= _destination(run, slices, capacity, rng)
        tile.writes.append(writes)
        tile.runs.append(run)
        if results := model.run(run):
            tile.deliver(run, results, model)
    if tile.runs[-1]["destination"] == Destination.MEMORY:
        _go_on(tile, model, slices, rng)
    return tile


def _destination(
    run: dict[str, int], slices: int, capacity: int, rng: np.random.Generator
) -> dict[str, int]:
    """A destination for results: the memory only where there is room beside the operands."""
    destination = Destination(int(rng.choice([0, 0, 0, 1, 2, 2])))
    needed = run["rows"] * row_results(run, slices)
    behind = run["a_first"] + run["rows"] * run["words"]
    places = [*range(run["a_first"] - needed + 1), *range(behind, capacity - needed + 1)]
    if not run["last"] or (destination == Destination.MEMORY and not places):
        destination = Destination.LINK
    to_first = int(rng.choice(places)) if destination == Destination.MEMORY else 0
    return {"destination": destination, "to_first": to_first}


def _go_on(tile: Tile, model: TileModel, slices: int, rng: np.random.Generator) -> None:
    """Multiply the results that have become operands, as a layer behind would.

    Words of slices are written from the last one on that the run before reads, and so many that
    some come with its results; then those that are multiplied. At the end those of before are, too,
    by the first operands.
    """
    before, capacity = tile.runs[-1], model.memory.words
    mode = Precision(before["to"] if before["scaled"] else before["mode"])
    words = row_results(before, slices)
    last = before["b_first"] + before["words"] - 1
    long = min(40, capacity - last)
    writes = []
    for first, count in ((last, long), (0, words)):
        for number in range(slices):
            writes += _numbered((number + 1) * capacity + first, _words(mode, count, rng))
    for address, word in writes:
        model.memory.write(address, np.array([word]))
    run = before | {"a_first": before["to_first"], "b_first": 0, "words": words, "mode": mode}
    run |= {"first": 1, "last": 1, "destination": Destination.LINK, "to_first": 0}
    long = min(long, before["rows"] * before["words"])
    over = run | {"a_first": before["a_first"], "b_first": last, "words": long, "rows": 1}
    tile.writes += [writes, []]
    for own in (run, over):
        tile.runs.append(own)
        tile.results += model.run(own)


def short_runs(
    model: TileModel, count: int, rng: np.random.Generator, precisions: Sequence[Precision]
) -> Tile:
    """So many short runs, each of which ends its sums, on the same operands and exponents."""
    slices = len(model.exponents)
    tile = Tile(exponents=_exponents(Precision.INT8, Precision.INT8, slices, rng))
    model.exponents = np.array(tile.exponents)
    reach, writes = 64, []
    for memory in range(slices + 1):
        first, mode = memory * model.memory.words, Precision(int(rng.choice(precisions)))
        written = _words(mode, reach, rng)
        model.memory.write(first, np.array(written))
        writes += _numbered(first, written)
    tile.writes = [writes]
    for _ in range(count):
        run = {"scaled": int(rng.integers(0, 2)), "to": int(rng.choice(precisions))}
        run |= {name: int(rng.integers(0, reach - 3 * ROWS + 1)) for name in ("a_first", "b_first")}
        run |= {"mode": int(rng.choice(precisions))}
        run |= {"words": int(rng.integers(1, 4)), "rows": int(rng.integers(1, ROWS + 1))}
        run |= {"first": 1, "last": 1}
        run |= _destination(run, slices, reach, rng)
        tile.runs.append(run)
        tile.deliver(run, model.run(run), model)
    return tile


def _exponents(mode: Precision, to: Precision, slices: int, rng: np.random.Generator) -> list[int]:
    """Exponents of slices, most of which bring a sum of a few products into the target's range."""
    middle = 0 if not to.integer else to.bits - 1 - (2 * mode.bits if mode.integer else 0)
    near = middle + rng.integers(-6, 7, slices)
    anywhere = rng.integers(EXPONENTS[0], EXPONENTS[-1] + 1, slices)
    return np.where(rng.integers(0, 6, slices) == 0, anywhere, near).tolist()


def _words(mode: Precision, count: int, rng: np.random.Generator) -> list[int]:
    return [int(word) for word in sum_words(mode, count, rng)[0]]


def _numbered(first: int, words: list[int]) -> list[tuple[int, int]]:
    return list(enumerate(words, start=first))

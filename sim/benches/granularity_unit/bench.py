"""Bench of the granularity unit: tiles of all precisions, in one run or several."""

import cocotb
import numpy as np

from adagrain.hdl.dot_product import DotProduct
from adagrain.models.granularity_unit import TileModel
from adagrain.models.interface.precision import Precision
from adagrain.models.interface.units.granularity_unit import ROWS
from adagrain.sim.simulators.bench import Bench, bench

from .traffic import Tile, random_tile, short_runs


def scale(b: Bench, exponents: list[int]) -> None:
    """Give each slice its exponent."""
    for number, exponent in enumerate(exponents):
        b.port(f"exponents__{number}").value = exponent & 0xFF


async def write(b: Bench, words: list[tuple[int, int]]) -> None:
    """Write words, each with its address."""
    b.source("i_words").put(*({"address": at, "word": word} for at, word in words))
    await b.source("i_words").drain()


def start(b: Bench, *runs: dict[str, int]) -> None:
    """Give the unit runs."""
    b.source("i").put(*({name: int(value) for name, value in run.items()} for run in runs))


async def execute(b: Bench, tile: Tile) -> None:
    """Write, and run, again and again; words wait until nothing reads the last ones any more."""
    scale(b, tile.exponents)
    for writes, run in zip(tile.writes, tile.runs, strict=True):
        await write(b, writes)
        start(b, run)
        await b.source("i").drain()


@bench(cycles=400_000)
async def equals_the_model(b: Bench) -> None:
    """Random tiles, at any idling and any back-pressure."""
    rng = np.random.default_rng(b.seed)
    model = TileModel(b.component.slices, b.component.words)
    b.sink("o_data")
    for _ in range(b.scaled(60)):
        tile = random_tile(model, b.component.slices, rng, b.component.precisions)
        await execute(b, tile)
        await b.sink("o").expect([result._asdict() for result in tile.results])
        await b.sink("o_data").expect(tile.beats)


@bench(cycles=200_000)
async def keeps_order(b: Bench) -> None:
    """Short runs that follow each other at once, some of which are rescaled."""
    rng = np.random.default_rng(b.seed)
    model = TileModel(b.component.slices, b.component.words)
    b.sink("o_data")
    tile = short_runs(model, b.scaled(150), rng, b.component.precisions)
    scale(b, tile.exponents)
    await write(b, tile.writes[0])
    start(b, *tile.runs)
    await b.sink("o").expect([result._asdict() for result in tile.results])
    await b.sink("o_data").expect(tile.beats)


@cocotb.parametrize(rows=[1, 3, ROWS])
@bench(cycles=2_000)
async def multiplies_in_each_cycle(b: Bench, rows: int) -> None:
    """A run takes a cycle for each row and word, but for few rows of FP32, whose sums wait."""
    b.source("i", idle=0)
    b.sink("o", stall=0)
    words = b.component.words // ROWS
    run = {"words": words, "rows": rows, "first": 1, "last": 0, "scaled": 0, "to": 0}
    for precision in b.component.precisions:
        start = b.cycle
        await execute(b, Tile(writes=[[]], runs=[run | {"mode": int(precision)}]))
        await b.wait()
        while b.port("busy").value:
            await b.wait()
        turn = max(rows, DotProduct.LOOP) if precision is Precision.FP32 else rows
        assert b.cycle - start <= words * turn + 8


@bench(cycles=200_000)
async def forgets_what_a_reset_cut_off(b: Bench) -> None:
    """A reset at any time of a run leaves nothing of it in the tiles behind."""
    rng = np.random.default_rng(b.seed)
    b.sink("o")
    b.sink("o_data")
    for _ in range(b.scaled(20)):
        model = TileModel(b.component.slices, b.component.words)
        given = short_runs(model, 3, rng, b.component.precisions)
        scale(b, given.exponents)
        await write(b, given.writes[0])
        b.source("i").put(
            *({name: int(value) for name, value in run.items()} for run in given.runs)
        )
        await b.source("i").drain()
        await b.wait(b.random.randrange(60))
        await b.reset()
        tile = random_tile(model, b.component.slices, rng, b.component.precisions)
        await execute(b, tile)
        await b.sink("o").expect([result._asdict() for result in tile.results])
        await b.sink("o_data").expect(tile.beats)

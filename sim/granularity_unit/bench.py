"""Bench of the granularity unit: tiles of all precisions, in one run or several."""

import numpy as np

from adagrain.models.granularity_unit import ROWS, TileModel
from adagrain.sim.bench import Bench, bench

from .traffic import Tile, random_tile


async def execute(b: Bench, tile: Tile) -> None:
    """Write, and run, again and again; words wait until nothing reads the last ones any more."""
    for writes, run in zip(tile.writes, tile.runs, strict=True):
        b.source("i_words").put(*({"address": at, "word": word} for at, word in writes))
        await b.source("i_words").drain()
        b.source("i").put(run | {"mode": int(run["mode"])})
        await b.source("i").drain()


@bench(cycles=400_000)
async def equals_the_model(b: Bench) -> None:
    """Random tiles, at any idling and any back-pressure."""
    rng = np.random.default_rng(b.seed)
    model = TileModel(b.component.slices, b.component.words)
    for _ in range(b.scaled(60)):
        tile = random_tile(model, b.component.slices, rng, b.component.precisions)
        await execute(b, tile)
        await b.sink("o").expect([result._asdict() for result in tile.results])


@bench(cycles=2_000)
async def multiplies_in_each_cycle(b: Bench) -> None:
    """A run of eight rows takes a cycle for each row and word."""
    b.source("i", idle=0)
    b.sink("o", stall=0)
    words = b.component.words // ROWS
    run = {"words": words, "rows": ROWS, "mode": 2, "first": 1, "last": 0}
    start = b.cycle
    await execute(b, Tile([[]], [run]))
    await b.wait()
    while b.port("busy").value:
        await b.wait()
    assert b.cycle - start <= words * ROWS + 8
    assert b.port("tile_words").value == words * ROWS

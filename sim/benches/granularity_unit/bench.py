"""Bench of the granularity unit: tiles of all precisions, in one run or several."""

import cocotb
import numpy as np

from adagrain.hdl.dot_product import DotProduct
from adagrain.models.granularity_unit import TileModel
from adagrain.models.interface.precision import Precision
from adagrain.models.interface.units.granularity_unit import ROWS
from adagrain.sim.simulators.bench import Bench, bench
from adagrain.sim.simulators.stimulus import Stimulus

from .traffic import Tile, random_tile, short_runs


def model_of(b: Bench) -> TileModel:
    """A model without anything in its memories."""
    return TileModel(b.component.slices, b.component.words)


@bench(cycles=400_000)
async def equals_the_model(b: Bench) -> None:
    """Random tiles, at any idling and any back-pressure."""
    rng, model = np.random.default_rng(b.seed), model_of(b)
    for _ in range(b.scaled(60)):
        tile = random_tile(model, b.component.slices, rng, b.component.precisions)
        await b.demand(*tile.stimuli())


@bench(cycles=200_000)
async def keeps_order(b: Bench) -> None:
    """Short runs that follow each other at once, some of which are rescaled."""
    rng = np.random.default_rng(b.seed)
    tile = short_runs(model_of(b), b.scaled(150), rng, b.component.precisions)
    await b.demand(*tile.stimuli())


@cocotb.parametrize(rows=[1, 3, ROWS])
@bench(cycles=2_000)
async def multiplies_in_each_cycle(b: Bench, rows: int) -> None:
    """A run takes a cycle for each row and word, but for few rows of FP32, whose sums wait."""
    b.source("i", idle=0)
    b.sink("o", stall=0)
    words = b.component.words // ROWS
    run = {"words": words, "rows": rows, "first": 1}
    for precision in b.component.precisions:
        start = b.cycle
        await b.demand(Stimulus({"i": [run | {"mode": precision}]}))
        await b.wait()
        while b.port("busy").value:
            await b.wait()
        turn = max(rows, DotProduct.LOOP) if precision is Precision.FP32 else rows
        assert b.cycle - start <= words * turn + 8


@bench(cycles=5_000)
async def is_settled_once_all_results_have_left(b: Bench) -> None:
    """A run is under way for as long as nobody takes its results."""
    rng, tile = np.random.default_rng(b.seed), Tile()
    while not (tile.results or tile.beats):
        tile = short_runs(model_of(b), 1, rng, b.component.precisions)
    *written, last = tile.stimuli()
    await b.demand(*written, Stimulus(last.inputs))
    await b.wait(100)
    assert not b.get("settled"), f"settled before its results have left: {b}"
    await b.demand(Stimulus({}, last.outputs))
    await b.wait(2)
    assert b.get("settled"), f"not settled once its results have left: {b}"


@bench(cycles=200_000)
async def forgets_what_a_reset_cut_off(b: Bench) -> None:
    """A reset at any time of a run leaves nothing of it in the tiles behind."""
    rng = np.random.default_rng(b.seed)
    b.sink("o")
    b.sink("o_data")
    for _ in range(b.scaled(20)):
        model = model_of(b)
        *written, last = short_runs(model, 3, rng, b.component.precisions).stimuli()
        await b.demand(*written, Stimulus(last.inputs))
        await b.wait(b.random.randrange(60))
        await b.reset()
        tile = random_tile(model, b.component.slices, rng, b.component.precisions)
        await b.demand(*tile.stimuli())

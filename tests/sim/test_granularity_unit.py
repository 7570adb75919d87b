"""The granularity unit as compiled RTL against its golden model, over many tiles."""

import os

import numpy as np
import pytest

from adagrain.models.granularity_unit import TileModel
from adagrain.models.interface.precision import Precision
from adagrain.sim.benches.granularity_unit import VARIANTS
from adagrain.sim.benches.granularity_unit.traffic import Tile, random_tile, short_runs
from adagrain.sim.compiled import CompiledUnit, check_silence, demand

TILES = 3_000 if os.environ.get("ADAGRAIN_FULL") == "1" else 100


@pytest.mark.parametrize(
    "variant",
    [
        v if v == "integers_four_slices" else pytest.param(v, marks=pytest.mark.full)
        for v in VARIANTS
    ],
)
def test_compiled_unit_equals_the_model(variant: str, seed: int) -> None:
    rng, component = np.random.default_rng(seed), VARIANTS[variant]()
    slices, precisions = component.slices, component.precisions
    model = TileModel(slices, component.words)
    with CompiledUnit(component, "granularity_unit") as unit:
        tiles = (random_tile(model, slices, rng, precisions) for _ in range(TILES))
        demand(unit, (stimulus for tile in tiles for stimulus in tile.stimuli()), seed=seed)
        demand(unit, short_runs(model, TILES, rng, precisions).stimuli(), seed=seed)
        check_silence(unit, "o", "o_data")


@pytest.mark.parametrize("rows", [1, 8])
def test_a_run_over_whole_memories(rows: int, seed: int) -> None:
    component = VARIANTS["integers_four_slices"]()
    model = TileModel(component.slices, component.words)
    words = np.random.default_rng(seed).integers(
        0, 1 << 32, (component.slices + 1) * component.words
    )
    model.memory.write(0, words)
    run = {"words": component.words // rows, "rows": rows, "mode": Precision.INT8}
    run |= {"first": 1, "last": 1, **dict.fromkeys(("a_first", "b_first", "to_first"), 0)}
    run |= dict.fromkeys(("destination", "scaled", "to"), 0)
    tile = Tile([list(enumerate(words.tolist()))], [0] * component.slices, [run])
    tile.results += model.run(run)
    with CompiledUnit(component, "granularity_unit") as unit:
        demand(unit, tile.stimuli(), seed=seed)
        check_silence(unit, "o", "o_data")

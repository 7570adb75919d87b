"""Bench of the units that rescale and pack: results and flags, one number each cycle."""

import numpy as np

from adagrain.hdl.rescale import Packer
from adagrain.sim.simulators.bench import Bench, bench
from adagrain.sim.simulators.stimulus import as_list

from .traffic import stimulus


@bench(cycles=200_000)
async def equals_the_model(b: Bench) -> None:
    """Precisions that change with each sum or row, at any idling and any back-pressure."""
    await b.demand(stimulus(b.component, b.scaled(5_000), np.random.default_rng(b.seed)))


@bench(cycles=2_000)
async def takes_one_a_cycle(b: Bench) -> None:
    """A number enters in each cycle; results leave after as many cycles as it is said."""
    given = stimulus(b.component, 300, np.random.default_rng(b.seed))
    if not isinstance(b.component, Packer):
        await b.demand_pipeline(given)
        return
    b.sink("o", stall=0)
    start, source = b.cycle, b.source("i", idle=0)
    b.begin(given)
    await source.drain()
    assert b.cycle - start <= source.accepted + 2, b
    await b.sink("o").expect(as_list(given.outputs["o"]))

"""Bench of the slice: any mode after any other, results and flags, one each cycle."""

import numpy as np

from adagrain.sim.simulators.bench import Bench, bench

from .traffic import Pairs


@bench(cycles=200_000)
async def equals_the_model(b: Bench) -> None:
    """Modes, operations and operands at random, at any idling and any back-pressure."""
    await b.demand(Pairs.random(b.scaled(5_000), np.random.default_rng(b.seed)).stimulus())


@bench(cycles=2_000)
async def gives_one_a_cycle(b: Bench) -> None:
    """Results leave in each cycle though the mode changes, the first after as many as is said."""
    await b.demand_pipeline(Pairs.random(300, np.random.default_rng(b.seed)).stimulus())

"""Bench of the floating-point units: results and flags, one each cycle."""

import numpy as np

from adagrain.sim.simulators.bench import Bench, bench

from .traffic import stimulus


@bench(cycles=200_000)
async def equals_the_model(b: Bench) -> None:
    """Random and special operands at any idling and any back-pressure."""
    await b.demand(stimulus(b.component, b.scaled(2_000), np.random.default_rng(b.seed)))


@bench(cycles=2_000)
async def gives_one_a_cycle(b: Bench) -> None:
    """A result leaves in each cycle, the first one after as many cycles as it is said."""
    await b.demand_pipeline(stimulus(b.component, 200, np.random.default_rng(b.seed)))

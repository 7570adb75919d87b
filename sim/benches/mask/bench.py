"""Bench of the mask: what it keeps, and a beat each cycle."""

from adagrain.sim.simulators.bench import Bench, bench

from .traffic import random_regions


@bench(cycles=4_000_000)
async def equals_the_model(b: Bench) -> None:
    """Regions back to back, of either format, any table, any base."""
    await b.demand(random_regions(b.component, b.scaled(20), b.random))


@bench(cycles=60_000)
async def takes_a_beat_a_cycle(b: Bench) -> None:
    """No cycle is lost, not between regions either."""
    b.source("i_region", idle=0)
    await b.demand_pipeline(random_regions(b.component, 6, b.random))

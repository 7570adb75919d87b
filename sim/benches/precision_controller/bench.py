"""Bench of the precision controller: decisions and records, as the model has them."""

from adagrain.sim.simulators.bench import Bench, bench

from .traffic import stimuli


@bench(cycles=300_000)
async def equals_the_model(b: Bench) -> None:
    """Random records and updates, at any idling and any back-pressure."""
    await b.demand(*stimuli(b.component.channel_groups, b.scaled(60), b.random))


@bench(cycles=2_000)
async def decides_in_time(b: Bench) -> None:
    """An update takes no more cycles than it says."""
    b.sink("o", stall=0)
    for _ in range(10):
        b.source("i", idle=0).put(
            {"channel_group": 1, "variance": b.random.getrandbits(16), "square": 1 << 17}
        )
        await b.source("i").drain()
        start = b.cycle
        await b.sink("o").take()
        assert b.sink("o").cycles[-1] - start <= b.component.CYCLES

"""Bench of the queue: order, throughput, capacity."""

import cocotb

from adagrain.sim.simulators.bench import Bench, bench

from .traffic import stimulus


@bench(cycles=50_000)
async def keeps_order(b: Bench) -> None:
    """Everything that enters leaves, in order, at any idling and any back-pressure."""
    await b.demand(stimulus(b.component, b.scaled(500), b.random))


@bench(cycles=1_000)
async def streams_one_per_cycle(b: Bench) -> None:
    """A queue of three or more elements has no bubbles; a shorter one passes one in two cycles."""
    b.source("i", idle=0)
    output = b.sink("o", stall=0)
    await b.demand(stimulus(b.component, 100, b.random))
    period = 1 if b.component.depth > 2 else 2
    assert output.cycles[-1] - output.cycles[0] == period * (100 - 1)


@cocotb.parametrize(spare=[1, 3])
@bench(cycles=1_000)
async def holds_its_depth(b: Bench, spare: int) -> None:
    """A queue that nobody reads takes as many elements as it is deep."""
    elements = b.elements("i", b.component.depth + spare)
    source, output = b.source("i", idle=0), b.sink("o", stall=1)
    source.put(*elements)
    await b.wait(5 * b.component.depth + 10)
    assert source.accepted == b.component.depth
    output.stall = 0
    await output.expect(elements)

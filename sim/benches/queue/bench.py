"""Bench of the queue: order, throughput, capacity."""

import cocotb

from adagrain.sim.simulators.bench import Bench, bench


@bench(cycles=50_000)
async def keeps_order(b: Bench) -> None:
    """What enters leaves, in order, at any idling and any back-pressure."""
    elements = b.elements("i", b.scaled(500))
    b.source("i").put(*elements)
    await b.sink("o").expect(elements)


@bench(cycles=1_000)
async def streams_one_per_cycle(b: Bench) -> None:
    """A queue of two or more elements has no bubbles."""
    elements = b.elements("i", 100)
    b.source("i", idle=0).put(*elements)
    output = b.sink("o", stall=0)
    await output.expect(elements)
    if b.component.depth > 1:
        assert output.cycles[-1] - output.cycles[0] == len(elements) - 1


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

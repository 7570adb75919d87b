"""Bench of the encoder: blocks against the golden encoder's, and how fast they come."""

import cocotb
import torch

from adagrain.models.codec.defaults import DEFAULT_TABLES
from adagrain.models.interface.codec import BLOCK, SLOTS, TableNumber
from adagrain.sim.simulators.bench import Bench, bench
from adagrain.sim.simulators.stimulus import Stimulus, as_list

from .traffic import Region, codes, random_region, random_regions, random_table, regions

#: What a region takes beyond its elements: the way through the encoder, and each block's end.
_SLACK = 40


@bench(cycles=2_000_000)
async def equals_the_model(b: Bench) -> None:
    """Regions back to back, of either format, by two tables of which one is replaced meanwhile."""
    await b.demand(*random_regions(b.component, b.scaled(4), b.random))


def _random_tensor(b: Bench, size: int, density: float) -> torch.Tensor:
    draw = torch.Generator().manual_seed(b.random.getrandbits(32))
    kept = torch.rand(size, generator=draw) < density
    return torch.where(kept, torch.randn(size, generator=draw), 0.0).bfloat16()


async def _cycles(b: Bench, tensor: torch.Tensor) -> int:
    """Cycles from a region's first beat to its last word, without idling or back-pressure."""
    for name in ("i", "i_region", "i_code"):
        b.source(name, idle=0)
    table = DEFAULT_TABLES[TableNumber.WIDE]
    await b.demand(Stimulus({"i_code": codes(table, 0)}))
    given = regions(b.component.lanes, [Region(tensor, 128, 7, 0)], [table], b.random)
    source, sink = b.source("i"), b.sink("o", stall=0)
    b.begin(given)
    while not source.accepted:
        await b.wait()
    start = b.cycle
    await sink.expect(as_list(given.outputs["o"]))
    return sink.cycles[-1] - start


@cocotb.parametrize(share=[0.0, 0.01, 0.5, 0.8])
@bench(cycles=50_000)
async def does_not_stall_where_elements_are_few(b: Bench, share: float) -> None:
    """Random elements up to 0.8 a cycle: a beat is taken in each."""
    lanes = b.component.lanes
    cycles = await _cycles(b, _random_tensor(b, 4 * BLOCK, share / lanes))
    assert cycles <= 4 * BLOCK // lanes + _SLACK, f"{cycles} cycles: {b}"


@bench(cycles=50_000)
async def takes_an_element_a_cycle(b: Bench) -> None:
    """Random elements, one a cycle: 0.97 of a beat is taken in each."""
    lanes = b.component.lanes
    cycles = await _cycles(b, _random_tensor(b, 4 * BLOCK, 1 / lanes))
    assert cycles <= 4 * BLOCK / lanes / 0.97 + _SLACK, f"{cycles} cycles: {b}"


@bench(cycles=50_000)
async def codes_bursts_at_an_element_a_cycle(b: Bench) -> None:
    """All elements of a region, and each block's end in a cycle of its own."""
    cycles = await _cycles(b, _random_tensor(b, 2 * BLOCK, 1.0))
    assert cycles <= 2 * (BLOCK + 1) + _SLACK, f"{cycles} cycles: {b}"


@cocotb.parametrize(element=[1.0, 0.0])
@bench(cycles=10_000)
async def gives_a_short_block_after_its_latency(b: Bench, element: float) -> None:
    """A region of one element, in an encoder where nothing else is under way."""
    cycles = await _cycles(b, torch.full((1,), element).bfloat16())
    assert cycles == b.component.LATENCY - (element == 0), f"{cycles} cycles: {b}"


@bench(cycles=50_000)
async def takes_two_cycles_for_a_region_of_zeros(b: Bench) -> None:
    """Of one beat, and many of them."""
    for name in ("i", "i_region", "i_code"):
        b.source(name, idle=0)
    table, count = DEFAULT_TABLES[TableNumber.WIDE], 100
    await b.demand(Stimulus({"i_code": codes(table, 0)}))
    short = [Region(torch.zeros(1).bfloat16(), 128, 7, 0)] * count
    given = regions(b.component.lanes, short, [table], b.random)
    start, sink = b.cycle, b.sink("o", stall=0)
    b.begin(given)
    await sink.expect(as_list(given.outputs["o"]))
    cycles = sink.cycles[-1] - start
    assert cycles <= 2 * count + _SLACK, f"{cycles} cycles: {b}"


@bench(cycles=1_000_000)
async def keeps_its_tables_through_a_reset(b: Bench) -> None:
    """Elements without a symbol among those that they code: the escape's code is one of them."""
    tables = [random_table(b.random) for _ in range(SLOTS)]
    await b.demand(*(Stimulus({"i_code": codes(tables[n], n)}) for n in range(SLOTS)))
    for _ in range(b.scaled(2)):
        await b.reset(1 + b.random.randrange(3))
        some = [random_region(b.random, b.random.randrange(SLOTS)) for _ in range(4)]
        await b.demand(regions(b.component.lanes, some, tables, b.random))

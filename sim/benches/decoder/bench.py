"""Bench of the decoder: elements against the golden decoder's, and how fast they come."""

import cocotb
import torch

from adagrain.models.codec import DEFAULT_TABLES, CodeTable
from adagrain.models.interface.codec import BLOCK, SLOTS, TableNumber
from adagrain.sim.simulators.bench import Bench, bench
from adagrain.sim.simulators.stimulus import Stimulus, as_list

from .traffic import (
    Region,
    coded_region,
    entries,
    random_region,
    random_regions,
    random_table,
    regions,
)

#: Cycles of the way through the decoder.
_WAY = 12

_STREAMS = ("i_table", "i_begin", "i_block", "i")


@cocotb.parametrize(damage=[0.0, 0.5])
@bench(cycles=2_000_000)
async def equals_the_model(b: Bench, damage: float) -> None:
    """Regions back to back, of either format, by two tables of which one is replaced meanwhile."""
    await b.demand(*random_regions(b.component, b.scaled(3), b.random, damage))


def _masked(b: Bench, blocks: int, share: float) -> torch.Tensor:
    """So many blocks of which about so many elements are not zero."""
    draw = torch.Generator().manual_seed(b.random.getrandbits(32))
    kept = torch.rand(blocks * BLOCK, generator=draw) < share
    return torch.where(kept, torch.randn(len(kept), generator=draw), 0.0).bfloat16()


async def _cycles(b: Bench, tensor: torch.Tensor) -> int:
    """Cycles from a region's first block to its last beat, without idling or back-pressure."""
    for name in _STREAMS:
        b.source(name, idle=0)
    table = DEFAULT_TABLES[TableNumber.WIDE]
    await b.demand(Stimulus({"i_table": entries(table, 1)}))
    region = coded_region(tensor, 128, 7, 1, table)
    parts = zip(region.blocks, tensor.split(BLOCK), strict=True)
    assert all(raw or not part.any() for (raw, _), part in parts), f"a block is too long: {b}"
    given = regions(b.component, [region], [table, table], b.random)
    start, sink = b.cycle, b.sink("o", stall=0)
    b.begin(given)
    await sink.expect(as_list(given.outputs["o"]))
    await b.sink("o_block").expect(as_list(given.outputs["o_block"]))
    return sink.cycles[-1] - start


@bench(cycles=50_000)
async def takes_two_cycles_for_an_element(b: Bench) -> None:
    """All elements of two blocks."""
    cycles = await _cycles(b, _masked(b, 2, 1))
    assert cycles <= 2 * 2 * BLOCK + _WAY, f"{cycles} cycles: {b}"


@bench(cycles=50_000)
async def takes_two_cycles_for_an_escape(b: Bench) -> None:
    """Elements of 40 bits, one behind the other."""
    tensor = torch.zeros(BLOCK).bfloat16()
    tensor[: BLOCK // 4] = float("nan")
    cycles = await _cycles(b, tensor)
    zeros = 3 * BLOCK // 4 // b.component.lanes
    assert cycles <= 2 * BLOCK // 4 + zeros + _WAY, f"{cycles} cycles: {b}"


@bench(cycles=50_000)
async def gives_a_beat_of_zeros_a_cycle(b: Bench) -> None:
    """Blocks with nothing but zeros, and with few elements."""
    lanes = b.component.lanes
    for share in (0, 0.002):
        tensor = _masked(b, 3, share)
        cycles = await _cycles(b, tensor)
        assert cycles <= 3 * BLOCK // lanes + _WAY, f"{cycles} cycles: {b}"


@bench(cycles=50_000)
async def waits_for_zeros_and_elements_at_once(b: Bench) -> None:
    """Random elements, as many as there are pairs of beats: 0.85 of a beat in each cycle."""
    lanes = b.component.lanes
    tensor = _masked(b, 3, 0.5 / lanes)
    cycles = await _cycles(b, tensor)
    assert cycles <= 3 * BLOCK / lanes / 0.85 + _WAY, f"{cycles} cycles: {b}"


@bench(cycles=50_000)
async def begins_a_region_after_six_cycles(b: Bench) -> None:
    """Regions of one beat, of zeros or not; blocks of one region take two cycles each."""
    lanes, count = b.component.lanes, 100
    for name in _STREAMS:
        b.source(name, idle=0)
    table = DEFAULT_TABLES[TableNumber.WIDE]
    await b.demand(Stimulus({"i_table": entries(table, 1)}))
    for element in (0.0, 1.0):
        beat = torch.tensor([element, *[0.0] * (lanes - 1)]).bfloat16()
        one = coded_region(beat, 128, 7, 1, table)
        for some, each in (([one] * count, 6), ([one._replace(blocks=one.blocks * count)], 2)):
            given = regions(b.component, some, [table, table], b.random)
            start, sink, outcomes = b.cycle, b.sink("o", stall=0), b.sink("o_block", stall=0)
            b.begin(given)
            await sink.expect(as_list(given.outputs["o"]))
            await outcomes.expect(as_list(given.outputs["o_block"]))
            cycles = sink.cycles[-1] - start
            assert cycles <= each * count + _WAY, f"{cycles} cycles: {b}"


@bench(cycles=200_000)
async def forgets_a_block_that_a_reset_cut_off(b: Bench) -> None:
    """However far its elements came, they are in no other block."""
    for name in _STREAMS:
        b.source(name, idle=0)
    tables = [random_table(b.random) for _ in range(SLOTS)]
    await b.demand(*(Stimulus({"i_table": entries(tables[n], n)}) for n in range(SLOTS)))
    for _ in range(b.scaled(20)):
        cut = regions(b.component, [_short_region(b, tables, least=1)], tables, b.random)
        (block,), groups = (as_list(cut.inputs[name]) for name in ("i_block", "i"))
        b.sink("o"), b.sink("o_block")
        longer = {**block, "length": 8 * len(groups) + 1}
        b.begin(Stimulus({**cut.inputs, "i_block": [longer]}))
        for name in ("i_begin", "i_block", "i"):
            await b.source(name).drain()
        await b.wait(b.random.randrange(20))
        await b.reset(1)
        await b.demand(regions(b.component, [_short_region(b, tables)], tables, b.random))


def _short_region(b: Bench, tables: list[CodeTable], least: int = 0) -> Region:
    """One of a single block, of at least so many bytes."""
    while True:
        region = random_region(tables, b.random.randrange(SLOTS), b.random, damage=0)
        if len(region.blocks) == 1 and len(region.blocks[0][0]) >= least:
            return region

"""Bench of the statistics unit: records and histograms against the golden model."""

import dataclasses

import cocotb
import torch

from adagrain.models.interface.formats import FORMATS
from adagrain.models.interface.records import unpack
from adagrain.models.interface.units.statistics import BINS, StatisticsRecord
from adagrain.models.statistics import Statistics, statistics
from adagrain.sim.simulators.bench import Bench, bench

from .traffic import Pass, random_pass


async def _run(b: Bench, given: Pass) -> Statistics:
    """One pass through the unit."""
    lanes = b.component.unit.lanes
    b.source("i_tensor").put({"count": given.tensor.numel(), "format": given.code})
    b.source("i_begin").put(given.begin())
    b.source("i").put(*given.words(lanes).reshape(-1, lanes).tolist())
    (record,) = await b.sink("o").take()
    bins = None
    if given.histogram:
        b.source("i_bin").put(*range(BINS))
        found = await b.sink("o_bin").take(BINS)
        bins = tuple((entry["count"], entry["energy"]) for entry in found)
    fields = {name: record[name] for name in unpack(StatisticsRecord, bytes(76))}
    return Statistics(**fields, histogram=bins)


@bench(cycles=4_000_000)
async def equals_the_model(b: Bench) -> None:
    """Passes back to back over random bits and random numbers, with and without a histogram."""
    unit = b.component.unit
    longest = min(b.scaled(400), 2**unit.count_bits - 1)
    for number in range(b.scaled(30)):
        given = random_pass(b.random, b.component.formats, longest, unit.has_histogram)
        wanted = statistics(
            given.tensor,
            given.exponent,
            powers=unit.powers,
            histogram=given.histogram,
            kernel="reference",
        )
        found = await _run(b, given)
        assert found == wanted, f"pass {number}: {found} must be {wanted}: {b}"


@bench(cycles=200_000)
async def counts_what_overflows(b: Bench) -> None:
    """More elements than a counter holds set the flag, and the next pass is sound again."""
    unit = b.component.unit
    if unit.count_bits > 8:
        return
    tensor = torch.ones(2**unit.count_bits + 5)
    code = b.component.formats[0]
    assert FORMATS[code].dtype == torch.float32
    found = await _run(b, Pass(tensor, code, 0, False))
    assert (found.overflow, found.count) == (1, 2**unit.count_bits - 1), f"{found}: {b}"
    few = Pass(tensor[:5], code, 0, False)
    wanted = statistics(few.tensor, 0, powers=unit.powers, kernel="reference")
    assert dataclasses.replace(await _run(b, few)) == wanted, str(b)


@cocotb.parametrize(count=[512, 509])
@bench(cycles=20_000)
async def takes_a_group_per_cycle(b: Bench, count: int) -> None:
    """While data are there, no cycle is lost between the first group and the last."""
    unit = b.component.unit
    given = Pass(torch.randn(count), b.component.formats[0], 0, False)
    if count >= 2**unit.count_bits:
        return
    source = b.source("i", idle=0)
    source.put(*given.words(unit.lanes).reshape(-1, unit.lanes).tolist())
    b.source("i_tensor", idle=0).put({"count": count, "format": given.code})
    b.source("i_begin", idle=0).put(given.begin())
    while source.accepted == 0:
        await b.wait()
    began = b.cycle
    await source.drain()
    groups = -(-count // unit.lanes)
    assert b.cycle - began <= groups, f"{groups} groups took {b.cycle - began} cycles: {b}"
    await b.sink("o").take()


@bench(cycles=50_000)
async def forgets_a_pass_that_a_reset_cut_off(b: Bench) -> None:
    """A reset in the middle of a pass or of its sweep leaves nothing in the next histogram."""
    unit = b.component.unit
    lanes, code = unit.lanes, b.component.formats[0]
    given = Pass(torch.randn(100), code, 2, unit.has_histogram)
    wanted = statistics(
        given.tensor, 2, powers=unit.powers, histogram=unit.has_histogram, kernel="reference"
    )
    words = given.words(lanes).reshape(-1, lanes).tolist()
    for announced in (2 * len(given.tensor), len(given.tensor)):  # cut off in the pass, the sweep
        b.source("i", idle=0).put(*words)
        b.source("i_tensor", idle=0).put({"count": announced, "format": code})
        b.source("i_begin", idle=0).put({**given.begin(), "count": announced})
        await b.source("i").drain()
        await b.wait(60)
        await b.reset()
        found = await _run(b, given)
        assert found == wanted, f"after a reset {found} must be {wanted}: {b}"

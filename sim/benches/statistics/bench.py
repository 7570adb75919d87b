"""Bench of the statistics unit: records and histograms against the golden model."""

import cocotb
import torch

from adagrain.models.interface.formats import FORMATS
from adagrain.sim.simulators.bench import Bench, bench
from adagrain.sim.simulators.stimulus import Stimulus

from .traffic import Pass, inputs, random_pass, stimuli


@bench(cycles=4_000_000)
async def equals_the_model(b: Bench) -> None:
    """Passes back to back over random bits and random numbers, with and without a histogram."""
    unit = b.component.unit
    longest = min(b.scaled(400), 2**unit.count_bits - 1)
    for _ in range(b.scaled(30)):
        given = random_pass(b.random, b.component.formats, longest, unit.has_histogram)
        await b.demand(*stimuli(b.component, given))


@bench(cycles=200_000)
async def counts_what_overflows(b: Bench) -> None:
    """More elements than a counter holds set the flag, and the next pass is sound again.

    As many as it holds do not.
    """
    unit = b.component.unit
    if unit.count_bits > 8:
        return
    tensor = torch.ones(2**unit.count_bits + 5)
    code = b.component.formats[0]
    assert FORMATS[code].dtype == torch.float32
    await b.demand(Stimulus(inputs(b.component, Pass(tensor, code, 0, False))))
    (found,) = await b.sink("o").take()
    assert (found["overflow"], found["count"]) == (1, 2**unit.count_bits - 1), f"{found}: {b}"
    for count in (5, 2**unit.count_bits - 1):
        await b.demand(*stimuli(b.component, Pass(tensor[:count], code, 0, False)))


@cocotb.parametrize(count=[512, 509])
@bench(cycles=20_000)
async def takes_a_beat_per_cycle(b: Bench, count: int) -> None:
    """While data are there, no cycle is lost between the first beat and the last."""
    unit = b.component.unit
    if count >= 2**unit.count_bits:
        return
    sources = [b.source(name, idle=0) for name in ("i", "i_tensor", "i_begin")]
    given = Pass(torch.randn(count), b.component.formats[0], 0, False)
    b.begin(Stimulus(inputs(b.component, given)))
    while sources[0].accepted == 0:
        await b.wait()
    began = b.cycle
    await sources[0].drain()
    beats = -(-count // unit.lanes)
    assert b.cycle - began <= beats, f"{beats} beats took {b.cycle - began} cycles: {b}"
    await b.sink("o").take()


@bench(cycles=50_000)
async def forgets_a_pass_that_a_reset_cut_off(b: Bench) -> None:
    """A reset in the middle of a pass or of its sweep leaves nothing in the next histogram."""
    given = Pass(torch.randn(100), b.component.formats[0], 2, b.component.unit.has_histogram)
    for name in ("i", "i_tensor", "i_begin"):
        b.source(name, idle=0)
    for announced in (200, 100):  # cut off in the pass, the sweep
        heads = {
            "i_tensor": [{"count": announced, "format": given.code}],
            "i_begin": [{**given.begin(), "count": announced}],
        }
        await b.demand(Stimulus(inputs(b.component, given) | heads))
        await b.wait(60)
        await b.reset()
        await b.demand(*stimuli(b.component, given))

"""Bench of the difference unit: records against the golden model."""

import cocotb
import torch

from adagrain.sim.simulators.bench import Bench, bench
from adagrain.sim.simulators.stimulus import Stimulus, as_list

from .traffic import beats, begin, passes, random_passes, record, tensor

#: Elements whose pairs are told apart: zeros, subnormals, halves, ends, what is not finite.
SPECIAL = (
    *(0x0000_0000, 0x0000_0001, 0x007F_FFFF, 0x0080_0000, 0x3F80_0000, 0x3F80_0001),
    *(0x3FFF_FEFF, 0x3FFF_FF00, 0x7F7F_FFFF, 0x7F80_0000, 0x7F80_0001, 0x7FC0_0000),
)


@bench(cycles=2_000_000)
async def equals_the_model(b: Bench) -> None:
    """Passes back to back over random bits and random numbers, alike and not."""
    await b.demand(random_passes(b.component, b.scaled(60), b.random))


@bench(cycles=100_000)
async def compares_special_elements(b: Bench) -> None:
    """Some of them with others, and each with its opposite, one pair to a pass; then all in one."""
    every = [sign << 31 | word for word in SPECIAL for sign in (0, 1)]
    pairs = [(x, y) for x in every for y in every]
    some = b.random.sample(pairs, min(b.scaled(200), len(pairs)))
    some += [(x, x ^ 1 << 31) for x in every]
    guess, truth = (tensor(list(words)) for words in zip(*pairs, strict=True))
    for exponent in (0, -126, 127):
        given = [(tensor([x]), tensor([y]), exponent) for x, y in some]
        await b.demand(passes(b.component, [*given, (guess, truth, exponent)], b.random))


@bench(cycles=50_000)
async def adds_the_largest_differences(b: Bench) -> None:
    """All elements clamped, those of the guess to the other side: sums as large as they can be."""
    for count in (1, 2, b.scaled(500)):
        truth = tensor([b.random.choice([0x7F7F_FFFF, 0xFF7F_FFFF]) for _ in range(count)])
        await b.demand(passes(b.component, [(-truth, truth, 0)], b.random))


@cocotb.parametrize(count=[256, 255])
@bench(cycles=20_000)
async def takes_a_beat_per_cycle(b: Bench, count: int) -> None:
    """No cycle is lost between the first beat and the last; the record comes when it is said."""
    source, sink = b.source("i", idle=0), b.sink("o", stall=0)
    b.source("i_begin", idle=0)
    given = passes(b.component, [(torch.randn(count), torch.randn(count), 3)], b.random)
    b.begin(given)
    while source.accepted == 0:
        await b.wait()
    began = b.cycle
    await source.drain()
    ended, number = b.cycle, -(-2 * count // b.component.lanes)
    assert ended - began <= number, f"{number} beats took {ended - began} cycles: {b}"
    await sink.expect(as_list(given.outputs["o"]))
    assert sink.cycles[0] - ended == b.component.LATENCY, f"{sink.cycles[0] - ended} cycles: {b}"


@bench(cycles=20_000)
async def may_end_without_elements(b: Bench) -> None:
    """A last beat that keeps no lane adds nothing, neither to a pass nor to an empty one."""
    guess, truth = torch.randn(12), torch.randn(12)
    whole = beats(b.component, guess, truth, b.random)
    nothing = {**whole[-1], "keep": 0, "last": 1}
    elements = [*({**beat, "last": 0} for beat in whole), nothing, nothing]
    begins = [begin(1, b.random) for _ in range(2)]
    empty = {"exponent": 128, "bitwise_equal": 1}
    await b.demand(
        Stimulus({"i_begin": begins, "i": elements}, {"o": [record(guess, truth, 1), empty]})
    )


@bench(cycles=20_000)
async def leaves_an_odd_element_out(b: Bench) -> None:
    """An element of the guess without one of the truth is in no pass, not even in the next."""
    guess, truth = torch.randn(5), torch.randn(5)
    longer = torch.cat([guess, guess[:1]]), torch.cat([truth, truth[:1]])
    *whole, end = beats(b.component, *longer, b.random)
    if b.component.lanes == 1:
        whole[-1]["last"] = 1
    else:
        whole.append({**end, "keep": end["keep"] >> 1})
    odd = Stimulus({"i_begin": [begin(0, b.random)], "i": whole}, {"o": [record(guess, truth, 0)]})
    await b.demand(odd, passes(b.component, [(guess, truth, 0)], b.random))


@bench(cycles=50_000)
async def forgets_a_pass_that_a_reset_cut_off(b: Bench) -> None:
    """However far the last elements before a reset came, they are not in the next pass."""
    lanes = b.component.lanes
    b.source("i", idle=0), b.source("i_begin", idle=0)
    guess, truth = tensor([0x3F80_0000] * 6), tensor([0xBF80_0000] * 6)
    for waited in range(b.component.LATENCY + 2):
        whole = beats(b.component, guess, truth, b.random)
        cut = whole[: b.random.randrange(1, 4 * 2 // lanes)]
        b.source("i_begin").put(begin(0, b.random))
        b.source("i").put(*[{**beat, "last": 0} for beat in cut])
        await b.source("i").drain()
        await b.wait(waited)
        await b.reset(1)
        await b.demand(passes(b.component, [(guess[:1], truth[:1] / 2, 0)], b.random))

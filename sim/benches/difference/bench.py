"""Bench of the difference unit: records against the golden model."""

from typing import Any

import cocotb
import torch

from adagrain.models.difference import difference
from adagrain.models.interface.formats import FormatCode
from adagrain.models.interface.records import unpack
from adagrain.models.interface.units.difference import DifferenceRecord
from adagrain.sim.benches.statistics.traffic import random_pass
from adagrain.sim.simulators.bench import Bench, bench

Pair = tuple[torch.Tensor, torch.Tensor]

#: Longest tensors.
LONGEST = 120

#: Elements whose pairs are told apart: zeros, subnormals, halves, ends, what is not finite.
SPECIAL = (
    *(0x0000_0000, 0x0000_0001, 0x007F_FFFF, 0x0080_0000, 0x3F80_0000, 0x3F80_0001),
    *(0x3FFF_FEFF, 0x3FFF_FF00, 0x7F7F_FFFF, 0x7F80_0000, 0x7F80_0001, 0x7FC0_0000),
)


def tensor(words: list[int]) -> torch.Tensor:
    """FP32 elements by their words."""
    return torch.tensor(words, dtype=torch.int64).to(torch.int32).view(torch.float32)


def words_of(x: torch.Tensor) -> list[int]:
    """The words of FP32 elements."""
    return [word & 0xFFFF_FFFF for word in x.view(torch.int32).tolist()]


def random_pair(b: Bench) -> tuple[Pair, int]:
    """Two tensors of a length, and their exponent: alike, nearly so, close, or strangers."""
    truth = random_pass(b.random, (FormatCode.FP32,), LONGEST)
    words = words_of(truth.tensor)
    at = b.random.randrange(len(words))
    other = words_of(random_pass(b.random, (FormatCode.FP32,), LONGEST).tensor)
    match b.random.randrange(5):
        case 0:  # alike
            pass
        case 1:  # but for one bit
            words[at] ^= 1 << b.random.randrange(32)
        case 2:  # but for the lower bits
            words = [word ^ b.random.getrandbits(24) for word in words]
        case 3:  # of the other sign
            words = [word ^ 1 << 31 for word in words]
        case _:
            words = [b.random.choice(other) for _ in words]
    return (tensor(words), truth.tensor), truth.exponent


def beats(b: Bench, pair: Pair) -> list[dict[str, Any]]:
    """Elements in turn, in beats; noise in lanes that hold none."""
    lanes = b.component.lanes
    words = words_of(torch.stack(pair, dim=1).reshape(-1))
    found = []
    for start in range(0, len(words), lanes):
        some = words[start : start + lanes]
        noise = [b.random.getrandbits(32) for _ in range(lanes - len(some))]
        keep, last = (1 << len(some)) - 1, int(start + lanes >= len(words))
        found.append({"data": some + noise, "keep": keep, "last": last})
    return found


def put(b: Bench, pair: Pair, exponent: int) -> dict[str, int]:
    """Line up a pass; its record."""
    b.source("i_begin").put({**b.elements("i_begin", 1)[0], "exponent": exponent + 127})
    b.source("i").put(*beats(b, pair))
    return record(
        unpack(DifferenceRecord, difference(*pair, exponent, kernel="reference").record())
    )


def record(fields: dict[str, int]) -> dict[str, int]:
    """With what is reserved."""
    return {**fields, "_reserved": 0}


@bench(cycles=2_000_000)
async def equals_the_model(b: Bench) -> None:
    """Passes back to back over random bits and random numbers, alike and not."""
    wanted = [put(b, *random_pair(b)) for _ in range(b.scaled(60))]
    await b.sink("o").expect(wanted)


@bench(cycles=100_000)
async def compares_special_elements(b: Bench) -> None:
    """Each of them with each, of either sign, one pair to a pass; then all in one."""
    every = [sign << 31 | word for word in SPECIAL for sign in (0, 1)]
    pairs = [(x, y) for x in every for y in every]
    some = b.random.sample(pairs, min(b.scaled(200), len(pairs)))
    for exponent in (0, -126, 127):
        wanted = [put(b, (tensor([x]), tensor([y])), exponent) for x, y in some]
        wanted.append(
            put(b, (tensor([x for x, _ in pairs]), tensor([y for _, y in pairs])), exponent)
        )
        await b.sink("o").expect(wanted)


@bench(cycles=50_000)
async def adds_the_largest_differences(b: Bench) -> None:
    """All elements clamped, those of the guess to the other side: sums as large as they can be."""
    for count in (1, 2, b.scaled(500)):
        truth = tensor([b.random.choice([0x7F7F_FFFF, 0xFF7F_FFFF]) for _ in range(count)])
        await b.sink("o").expect([put(b, (-truth, truth), 0)])


@cocotb.parametrize(count=[256, 255])
@bench(cycles=20_000)
async def takes_a_beat_per_cycle(b: Bench, count: int) -> None:
    """No cycle is lost between the first beat and the last; the record comes when it is said."""
    source, sink = b.source("i", idle=0), b.sink("o", stall=0)
    b.source("i_begin", idle=0)
    wanted = put(b, (torch.randn(count), torch.randn(count)), 3)
    while source.accepted == 0:
        await b.wait()
    began = b.cycle
    await source.drain()
    ended, number = b.cycle, -(-2 * count // b.component.lanes)
    assert ended - began <= number, f"{number} beats took {ended - began} cycles: {b}"
    await sink.expect([wanted])
    assert sink.cycles[0] - ended == b.component.LATENCY, f"{sink.cycles[0] - ended} cycles: {b}"


@bench(cycles=20_000)
async def may_end_without_elements(b: Bench) -> None:
    """A last beat that keeps no lane adds nothing, neither to a pass nor to an empty one."""
    pair = (torch.randn(12), torch.randn(12))
    nothing = {**beats(b, (pair[0][:1], pair[1][:1]))[-1], "keep": 0, "last": 1}
    wanted = difference(*pair, 1, kernel="reference").record()
    b.source("i_begin").put(*[{**b.elements("i_begin", 1)[0], "exponent": 128} for _ in range(2)])
    b.source("i").put(*[{**beat, "last": 0} for beat in beats(b, pair)], nothing, nothing)
    empty = {**dict.fromkeys(unpack(DifferenceRecord, wanted), 0), "exponent": 128}
    await b.sink("o").expect(
        [record(unpack(DifferenceRecord, wanted)), record({**empty, "bitwise_equal": 1})]
    )


@bench(cycles=20_000)
async def leaves_an_odd_element_out(b: Bench) -> None:
    """An element of the guess without one of the truth is in no pass, not even in the next."""
    pair = (torch.randn(5), torch.randn(5))
    *whole, end = beats(b, (torch.cat([pair[0], pair[0][:1]]), torch.cat([pair[1], pair[1][:1]])))
    b.source("i_begin").put({**b.elements("i_begin", 1)[0], "exponent": 127})
    if b.component.lanes == 1:
        whole[-1]["last"] = 1
    else:
        whole.append({**end, "keep": end["keep"] >> 1})
    b.source("i").put(*whole)
    wanted = unpack(DifferenceRecord, difference(*pair, 0, kernel="reference").record())
    await b.sink("o").expect([record(wanted), put(b, pair, 0)])


@bench(cycles=50_000)
async def forgets_a_pass_that_a_reset_cut_off(b: Bench) -> None:
    """However far the last elements before a reset came, they are not in the next pass."""
    lanes = b.component.lanes
    b.source("i", idle=0), b.source("i_begin", idle=0)
    for waited in range(b.component.LATENCY + 2):
        pair = (tensor([0x3F80_0000] * 6), tensor([0xBF80_0000] * 6))
        whole = beats(b, pair)
        cut = whole[: b.random.randrange(1, 4 * 2 // lanes)]
        b.source("i_begin").put({**b.elements("i_begin", 1)[0], "exponent": 127})
        b.source("i").put(*[{**beat, "last": 0} for beat in cut])
        await b.source("i").drain()
        await b.wait(waited)
        await b.reset(1)
        await b.sink("o").expect([put(b, (pair[0][:1], pair[1][:1] / 2), 0)])

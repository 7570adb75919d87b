"""Bench of the dot product: sums in all precisions that overlap."""

import numpy as np

from adagrain.hdl.dot_product import IntegerDotProduct
from adagrain.models.interface.precision import Precision
from adagrain.sim.simulators.bench import Bench, bench
from adagrain.sim.simulators.stimulus import Stimulus

from .traffic import stimulus, terms


def random_sums(b: Bench, sums: int, **more: int) -> Stimulus:
    rng = np.random.default_rng(b.seed)
    return stimulus(sums, b.component.entries, rng, precisions=b.component.PRECISIONS, **more)


@bench(cycles=300_000)
async def equals_the_model(b: Bench) -> None:
    """Sums of random precisions and lengths, at any idling and any back-pressure."""
    await b.demand(random_sums(b, b.scaled(300), longest=40))


@bench(cycles=100_000)
async def waits_for_a_sum_alone(b: Bench) -> None:
    """Terms of one sum that follow each other immediately."""
    await b.demand(random_sums(b, b.scaled(60), longest=12, used=1))


@bench(cycles=20_000)
async def takes_a_pair_each_cycle(b: Bench) -> None:
    """As long as sums take turns, nothing waits, though their modes differ.

    But where integers go on with the sum of the pair before the last: of two sums, each other pair.
    """
    entries = b.component.entries
    if entries < b.component.LOOP:
        return
    length = 50
    turns = [(index, k) for k in range(length) for index in range(entries)]
    modes = np.random.default_rng(b.seed).choice(b.component.PRECISIONS, entries).tolist()
    waits = length if isinstance(b.component, IntegerDotProduct) and entries == 2 else 0
    assert await cycles_of(b, turns, length, modes) <= length * entries + waits + 2


@bench(cycles=20_000)
async def takes_sums_one_after_the_other(b: Bench) -> None:
    """Exact sums grow by a pair each cycle; each pair of FP32 waits for the one before."""
    entries, length = b.component.entries, 20
    turns = [(index, k) for index in range(entries) for k in range(length)]
    for precision in b.component.PRECISIONS:
        more = (b.component.LOOP - 1) * (length - 1) if precision is Precision.FP32 else 0
        found = await cycles_of(b, turns, length, [precision] * entries)
        assert found <= (length + more) * entries + 2, precision.name


async def cycles_of(
    b: Bench, turns: list[tuple[int, int]], length: int, modes: list[Precision]
) -> int:
    """Cycles in which pairs of zeros are taken: of sums by index, the ``k``-th of each."""
    source = b.source("i", idle=0)
    b.sink("o", stall=0)
    zeros = terms([(0, 0, modes[i], i, k == 0, k == length - 1) for i, k in turns])
    source.put(*zeros.elements())
    start = b.cycle
    await source.drain()
    found = b.cycle - start
    await b.sink("o").take(b.component.entries)
    return found

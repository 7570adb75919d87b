"""Bench of the dot product: sums in all precisions that overlap."""

import numpy as np

from adagrain.models.precision import Precision
from adagrain.sim.bench import Bench, bench
from adagrain.sim.payload import decode

from .traffic import Terms


async def demand(b: Bench, terms: Terms) -> None:
    b.source("i").put(*(decode(b.shape("i"), bits) for bits in terms.given))
    await b.sink("o").expect([decode(b.shape("o"), bits) for bits in terms.expected])


@bench(cycles=300_000)
async def equals_the_model(b: Bench) -> None:
    """Sums of random precisions and lengths, at any idling and any back-pressure."""
    rng = np.random.default_rng(b.seed)
    await demand(b, Terms.random(b.scaled(300), b.component.entries, rng, longest=40))


@bench(cycles=100_000)
async def waits_for_a_sum_alone(b: Bench) -> None:
    """Terms of one sum that follow each other immediately."""
    rng = np.random.default_rng(b.seed)
    await demand(b, Terms.random(b.scaled(60), b.component.entries, rng, longest=12, used=1))


@bench(cycles=20_000)
async def takes_a_pair_each_cycle(b: Bench) -> None:
    """As long as sums take turns, nothing waits, though their modes differ."""
    entries = b.component.entries
    if entries < b.component.LOOP:
        return
    rng = np.random.default_rng(b.seed)
    shape = b.shape("i")
    source, length = b.source("i", idle=0), 50
    b.sink("o", stall=0)
    modes = rng.integers(0, len(Precision), entries)
    for k in range(length):
        for index in range(entries):
            words = {"a": 0, "b": 0, "mode": int(modes[index]), "index": index}
            source.put(decode(shape, 0) | words | {"first": k == 0, "last": k == length - 1})
    start = b.cycle
    await source.drain()
    assert b.cycle - start <= length * entries + 2
    await b.sink("o").take(entries)

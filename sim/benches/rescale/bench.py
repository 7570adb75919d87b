"""Bench of the units that rescale and pack: results and flags, one number each cycle."""

from typing import Any

import numpy as np

from adagrain.hdl.rescale import Packer
from adagrain.sim.simulators.bench import Bench, bench
from adagrain.sim.simulators.payload import decode

from .traffic import exchanged


def prepared(b: Bench, count: int) -> tuple[list[Any], list[Any]]:
    """Elements to put in, and elements to come out."""
    given, wanted = exchanged(b.component, count, np.random.default_rng(b.seed))
    return (
        [decode(b.shape("i"), bits) for bits in given.tolist()],
        [decode(b.shape("o"), bits) for bits in wanted.tolist()],
    )


@bench(cycles=200_000)
async def equals_the_model(b: Bench) -> None:
    """Precisions that change with each sum or row, at any idling and any back-pressure."""
    elements, wanted = prepared(b, b.scaled(5_000))
    b.source("i").put(*elements)
    await b.sink("o").expect(wanted)


@bench(cycles=2_000)
async def takes_one_a_cycle(b: Bench) -> None:
    """A number enters in each cycle; results leave after as many cycles as it is said."""
    elements, wanted = prepared(b, 300)
    if not isinstance(b.component, Packer):
        await b.demand_pipeline(elements, wanted)
        return
    b.sink("o", stall=0)
    start = b.cycle
    b.source("i", idle=0).put(*elements)
    await b.source("i").drain()
    assert b.cycle - start <= len(elements) + 2, b
    await b.sink("o").expect(wanted)

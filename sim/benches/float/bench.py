"""Bench of the floating-point units: results and flags, one each cycle."""

from typing import Any

import numpy as np

from adagrain.sim.simulators.bench import Bench, bench
from adagrain.sim.simulators.payload import decode

from .traffic import expected, given, operands


def prepared(b: Bench, count: int) -> tuple[list[Any], list[Any]]:
    """Elements to put in, and elements to come out."""
    columns = operands(b.component, count, np.random.default_rng(b.seed))
    words = given(b.component, columns), expected(b.component, columns)
    return (
        [decode(b.shape("i"), word) for word in words[0].tolist()],
        [decode(b.shape("o"), word) for word in words[1].tolist()],
    )


@bench(cycles=200_000)
async def equals_the_model(b: Bench) -> None:
    """Random and special operands at any idling and any back-pressure."""
    elements, wanted = prepared(b, b.scaled(2_000))
    b.source("i").put(*elements)
    await b.sink("o").expect(wanted)


@bench(cycles=2_000)
async def gives_one_a_cycle(b: Bench) -> None:
    """A result leaves in each cycle, the first one after as many cycles as it is said."""
    await b.demand_pipeline(*prepared(b, 200))

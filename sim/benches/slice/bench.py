"""Bench of the slice: any mode after any other, results and flags, one each cycle."""

from typing import Any

import numpy as np

from adagrain.sim.simulators.bench import Bench, bench
from adagrain.sim.simulators.payload import decode

from .traffic import Pairs


def prepared(b: Bench, count: int) -> tuple[list[Any], list[Any]]:
    """Elements to put in, and elements to come out."""
    pairs = Pairs.random(count, np.random.default_rng(b.seed))
    return _elements(b, "i", pairs.given()), _elements(b, "o", pairs.expected())


def _elements(b: Bench, stream: str, rows: np.ndarray) -> list[Any]:
    shape = b.shape(stream)
    return [decode(shape, int.from_bytes(row.tobytes(), "little")) for row in rows]


@bench(cycles=200_000)
async def equals_the_model(b: Bench) -> None:
    """Modes, operations and operands at random, at any idling and any back-pressure."""
    elements, wanted = prepared(b, b.scaled(5_000))
    b.source("i").put(*elements)
    await b.sink("o").expect(wanted)


@bench(cycles=2_000)
async def gives_one_a_cycle(b: Bench) -> None:
    """Results leave in each cycle though the mode changes, the first after as many as is said."""
    await b.demand_pipeline(*prepared(b, 300))

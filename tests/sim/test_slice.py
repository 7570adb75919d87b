"""The slice as compiled RTL, with all its modes built in, against the golden model."""

import os

import numpy as np
import pytest

from adagrain.hdl.slice import Slice
from adagrain.models.interface.precision import Operation, Precision, packed
from adagrain.sim.benches.float.traffic import special
from adagrain.sim.benches.slice.traffic import Pairs
from adagrain.sim.compiled import CompiledUnit, demand

FULL = os.environ.get("ADAGRAIN_FULL") == "1"

#: Pairs of words in modes that change with each, of which each mode gets a fourth.
MIXED = 4_500_000 if FULL else 50_000
#: Pairs of numbers for each operation, of which half of those of FP32 are near to each other.
PAIRS = {
    Precision.FP32: 10_000_000 if FULL else 50_000,
    Precision.FP16: 50_000_000 if FULL else 50_000,
}
CHUNK = 25_000


def test_modes_that_change_with_each_word(seed: int) -> None:
    rng = np.random.default_rng(seed)
    with CompiledUnit(Slice(), "slice") as unit:
        chunks = range(0, MIXED, CHUNK)
        demand(unit, (Pairs.random(CHUNK, rng).stimulus() for _ in chunks), seed=seed)


@pytest.mark.parametrize("operation", Operation, ids=lambda o: o.name)
@pytest.mark.parametrize("precision", PAIRS, ids=lambda p: p.name)
def test_many_pairs_of_one_precision(precision: Precision, operation: Operation, seed: int) -> None:
    rng = np.random.default_rng(seed)
    words = PAIRS[precision] // precision.lanes
    with CompiledUnit(Slice(), "slice") as unit:
        chunks = (Pairs.of(precision, operation, CHUNK, rng) for _ in range(0, words, CHUNK))
        demand(unit, (pairs.stimulus() for pairs in chunks), seed=seed)


def test_every_product_of_int8() -> None:
    a, b = (side.reshape(-1, 4) for side in np.meshgrid(*[np.arange(-128, 128)] * 2))
    everything(Precision.INT8, a, b)


def test_every_pair_sum_of_int4() -> None:
    sides = np.meshgrid(*[np.arange(-8, 8)] * 4)
    a = np.stack([sides[0].ravel(), sides[1].ravel()], axis=-1).reshape(-1, 8)
    b = np.stack([sides[2].ravel(), sides[3].ravel()], axis=-1).reshape(-1, 8)
    everything(Precision.INT4, a, b)


@pytest.mark.parametrize("operation", Operation, ids=lambda o: o.name)
@pytest.mark.parametrize("precision", PAIRS, ids=lambda p: p.name)
def test_all_special_pairs(precision: Precision, operation: Operation) -> None:
    a, b = np.meshgrid(*[special(precision.fmt)] * 2)
    lanes = precision.lanes
    everything(precision, a.reshape(-1, lanes), b.reshape(-1, lanes), operation)


def everything(
    precision: Precision,
    a: np.ndarray,
    b: np.ndarray,
    operation: Operation = Operation.MULTIPLY,
) -> None:
    """All rows of numbers, each of them in every place of a word."""
    step = 2 if precision is Precision.INT4 else 1  # two share a multiplier
    rotations = range(0, precision.lanes, step)
    a, b = (np.concatenate([np.roll(side, n, axis=1) for n in rotations]) for side in (a, b))
    pairs = Pairs(
        [(precision, operation)],
        np.zeros(len(a), dtype=np.int64),
        packed(a, precision),
        packed(b, precision),
    )
    with CompiledUnit(Slice(), "slice") as unit:
        demand(unit, [pairs.stimulus()], seed=1)

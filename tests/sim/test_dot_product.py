"""The dot product as compiled RTL against the golden model, over many sums."""

import os
import random

import numpy as np
import pytest

from adagrain.hdl.dot_product import DotProduct
from adagrain.models.precision import Precision
from adagrain.sim.compiled import CompiledUnit
from adagrain.sim.dot_product.traffic import Terms

#: Sums, each of up to 60 pairs of words.
SUMS = 150_000 if os.environ.get("ADAGRAIN_FULL") == "1" else 3_000
CHUNK = 3_000


def words(bits: list[int], count: int) -> np.ndarray:
    octets = b"".join(value.to_bytes(4 * count, "little") for value in bits)
    return np.frombuffer(octets, dtype="<u4").reshape(-1, count)


def demand_equal(unit: CompiledUnit, terms: Terms, seed: int) -> None:
    given, wanted = words(terms.given, 3), words(terms.expected, 2)
    limit = 100 * len(given) + 1000
    inputs, outputs = {"i": given}, {"o": len(wanted)}
    run = unit.run(inputs, outputs, max_cycles=limit, seed=seed, idle=16, stall=16)
    found = run.outputs["o"].view("<u4").reshape(wanted.shape)
    wrong = np.flatnonzero((found != wanted).any(axis=1))
    report = [f"{wanted[n]}, not {found[n]}" for n in wrong[:3]]
    assert not wrong.size, f"{wrong.size} of {len(wanted)} sums differ: {report}: seed {seed}"


@pytest.mark.parametrize("entries", [8, pytest.param(16, marks=pytest.mark.full)])
def test_sums_of_all_precisions(entries: int) -> None:
    seed = random.SystemRandom().getrandbits(32)
    rng = np.random.default_rng(seed)
    with CompiledUnit(DotProduct(entries), "dot_product") as unit:
        for _ in range(0, SUMS, CHUNK):
            demand_equal(unit, Terms.random(CHUNK, entries, rng, longest=60), seed)


@pytest.mark.parametrize(("factor", "pairs"), [(-128, 32767), (-128, 32768), (127, 33288)])
def test_integers_wrap_around_and_tell(factor: int, pairs: int) -> None:
    word = int.from_bytes(bytes([factor & 0xFF] * 4), "little")
    given = [
        word | word << 32 | (Precision.INT8 | (k == 0) << 5 | (k == pairs - 1) << 6) << 64
        for k in range(pairs)
    ]
    total = 4 * pairs * factor * factor
    expected = [total & 0xFFFF_FFFF | (total >= 1 << 31) << 34 | Precision.INT8 << 37]
    with CompiledUnit(DotProduct(8), "dot_product") as unit:
        demand_equal(unit, Terms(given, expected), seed=1)

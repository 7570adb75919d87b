"""The dot product as compiled RTL against the golden model, over many sums."""

import os

import numpy as np
import pytest

from adagrain.hdl.dot_product import DotProduct, IntegerDotProduct
from adagrain.models.arithmetic.float import Flag
from adagrain.models.interface.precision import Precision, packed
from adagrain.sim.benches.dot_product.traffic import Terms, term
from adagrain.sim.compiled import CompiledUnit

#: Sums that a unit holds where terms are made by hand.
ENTRIES = 8

#: Sums, each of up to 60 pairs of words.
SUMS = 50_000 if os.environ.get("ADAGRAIN_FULL") == "1" else 1_500
CHUNK = 1_500


def words(bits: list[int], count: int) -> np.ndarray:
    raw = b"".join(value.to_bytes(4 * count, "little") for value in bits)
    return np.frombuffer(raw, dtype="<u4").reshape(-1, count)


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
def test_sums_of_all_precisions(entries: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    with CompiledUnit(DotProduct(entries), "dot_product") as unit:
        for _ in range(0, SUMS, CHUNK):
            demand_equal(unit, Terms.random(CHUNK, entries, rng, longest=60), seed)


@pytest.mark.parametrize("used", [None, 1, 3])
@pytest.mark.parametrize("entries", [8, 2])
def test_sums_of_integers_alone(entries: int, used: int | None, seed: int) -> None:
    rng = np.random.default_rng(seed)
    precisions = IntegerDotProduct.PRECISIONS
    with CompiledUnit(IntegerDotProduct(entries), "integer_dot_product") as unit:
        for _ in range(0, SUMS, CHUNK):
            some = min(used or entries, entries)
            terms = Terms.random(CHUNK, entries, rng, longest=60, used=some, precisions=precisions)
            demand_equal(unit, terms, seed)


def test_a_sum_that_rounds_up_to_the_smallest_normal_number() -> None:
    """2**-14 - 2**-25 + 2**-30: tiny, as it lies below the middle of FP16's last two numbers of
    unbounded exponent; 2**-26 more is not."""
    more = 2.0 ** np.array([-15, -13])
    ones, zeros = np.ones(2), np.zeros(2)
    a = np.stack([ones * 2.0**-14, ones * -(2.0**-12), more, zeros], axis=1)
    b = np.stack([ones, ones * 2.0**-13, more, zeros], axis=1)
    halves = (side.astype(np.float16).view(np.uint16).reshape(2, 2, 2) for side in (a, b))
    a_words, b_words = (packed(side.astype(np.int64), Precision.FP16) for side in halves)
    given = [
        term(*pair, Precision.FP16, ENTRIES, first=k == 0, last=k == 1)
        for rows in zip(a_words.tolist(), b_words.tolist(), strict=True)
        for k, pair in enumerate(zip(*rows, strict=True))
    ]
    with CompiledUnit(DotProduct(ENTRIES), "dot_product") as unit:
        run = unit.run({"i": words(given, 3)}, {"o": 2}, max_cycles=1000)
    found = run.outputs["o"].view("<u4").reshape(2, 2)
    assert found[:, 0].tolist() == [0x0400, 0x0400]
    assert (found[:, 1] & 0x1F).tolist() == [Flag.INEXACT | Flag.UNDERFLOW, Flag.INEXACT]


def test_every_product_of_int8() -> None:
    """Each in one lane, beside three that do not change the sum."""
    a, b = (side.ravel() for side in np.meshgrid(*[np.arange(-128, 128)] * 2))
    for lane in range(Precision.INT8.lanes):
        numbers = np.zeros((2, a.size, Precision.INT8.lanes), dtype=np.int64)
        numbers[0, :, lane], numbers[1, :, lane] = a, b
        everything(Precision.INT8, *numbers)


def test_every_pair_sum_of_int4() -> None:
    sides = [side.ravel() for side in np.meshgrid(*[np.arange(-8, 8)] * 4)]
    for lane in range(0, Precision.INT4.lanes, 2):
        numbers = np.zeros((2, sides[0].size, Precision.INT4.lanes), dtype=np.int64)
        numbers[0, :, lane], numbers[0, :, lane + 1] = sides[0], sides[1]
        numbers[1, :, lane], numbers[1, :, lane + 1] = sides[2], sides[3]
        everything(Precision.INT4, *numbers)


def everything(precision: Precision, a: np.ndarray, b: np.ndarray) -> None:
    """Sums of one pair of words each."""
    words = [packed(side, precision).tolist() for side in (a, b)]
    totals = ((a * b).sum(axis=1) & 0xFFFF_FFFF).tolist()
    with CompiledUnit(IntegerDotProduct(ENTRIES), "integer_dot_product") as unit:
        pairs = zip(*words, strict=True)
        given = [term(*pair, precision, ENTRIES, first=True, last=True) for pair in pairs]
        demand_equal(unit, Terms(given, [total | precision << 37 for total in totals]), seed=1)


@pytest.mark.parametrize("kind", [DotProduct, IntegerDotProduct], ids=lambda k: k.__name__)
@pytest.mark.parametrize(("factor", "pairs"), [(-128, 32767), (-128, 32768), (127, 33288)])
def test_integers_wrap_around_and_tell(
    kind: type[DotProduct | IntegerDotProduct], factor: int, pairs: int
) -> None:
    word = int.from_bytes(bytes([factor & 0xFF] * 4), "little")
    given = [
        term(word, word, Precision.INT8, ENTRIES, first=k == 0, last=k == pairs - 1)
        for k in range(pairs)
    ]
    total = 4 * pairs * factor * factor
    expected = [total & 0xFFFF_FFFF | (total >= 1 << 31) << 34 | Precision.INT8 << 37]
    with CompiledUnit(kind(ENTRIES), kind.__name__.lower()) as unit:
        demand_equal(unit, Terms(given, expected), seed=1)


@pytest.mark.parametrize("others", [0, 1, 2, 3])
def test_a_sum_that_has_wrapped_around_tells_it_at_its_end(others: int) -> None:
    """However many sums of one pair come in between, and then no longer."""
    words = {number: int.from_bytes(bytes([number & 0xFF] * 4), "little") for number in (-128, 1)}

    def same(factor: int, index: int, *, first: bool, last: bool) -> int:
        word = words[factor]
        return term(word, word, Precision.INT8, ENTRIES, index=index, first=first, last=last)

    factors = [-128] * 32768 + [1] * 20
    given, expected = [], []
    for rows in (factors, [1] * 20):
        for k, factor in enumerate(rows):
            last = k == len(rows) - 1
            given.append(same(factor, 0, first=k == 0, last=last))
            if last:
                total = sum(4 * factor * factor for factor in rows)
                expected.append(total | (total >> 31) << 34 | Precision.INT8 << 37)
            for other in range(1, others + 1):
                given.append(same(1, other, first=True, last=True))
                expected.append(4 | Precision.INT8 << 37 | other << 39)
    with CompiledUnit(IntegerDotProduct(ENTRIES), "integer_dot_product") as unit:
        demand_equal(unit, Terms(given, expected), seed=1)

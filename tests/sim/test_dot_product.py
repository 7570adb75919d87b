"""The dot product as compiled RTL against the golden model, over many sums."""

import os

import numpy as np
import pytest

from adagrain.hdl.dot_product import DotProduct, IntegerDotProduct
from adagrain.models.arithmetic.float import Flag
from adagrain.models.dot_product import dot
from adagrain.models.interface.precision import Precision, packed
from adagrain.sim.benches.dot_product.traffic import Term, stimulus, sum_columns, terms
from adagrain.sim.compiled import CompiledUnit, demand
from adagrain.sim.simulators.stimulus import Stimulus

#: Sums that a unit holds where terms are made by hand.
ENTRIES = 8

#: Builds are kept by them.
NAMES = {DotProduct: "dot_product", IntegerDotProduct: "integer_dot_product"}

#: Sums, each of up to 60 pairs of words.
SUMS = 50_000 if os.environ.get("ADAGRAIN_FULL") == "1" else 750
CHUNK = 500

#: For each element, as each term of FP32 may wait for the one before.
CYCLES = 100


@pytest.mark.parametrize("entries", [8, pytest.param(16, marks=pytest.mark.full)])
def test_sums_of_all_precisions(entries: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    with CompiledUnit(DotProduct(entries), "dot_product") as unit:
        chunks = range(0, SUMS, CHUNK)
        given = (stimulus(CHUNK, entries, rng, longest=60) for _ in chunks)
        demand(unit, given, seed=seed, cycles=CYCLES)


@pytest.mark.parametrize("used", [None, 1, 3])
@pytest.mark.parametrize("entries", [8, 2])
def test_sums_of_integers_alone(entries: int, used: int | None, seed: int) -> None:
    rng = np.random.default_rng(seed)
    precisions = IntegerDotProduct.PRECISIONS
    with CompiledUnit(IntegerDotProduct(entries), "integer_dot_product") as unit:
        more = {"longest": 60, "used": min(used or entries, entries)}
        given = (
            stimulus(CHUNK, entries, rng, **more, precisions=precisions)
            for _ in range(0, SUMS, CHUNK)
        )
        demand(unit, given, seed=seed, cycles=CYCLES)


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
        (*pair, Precision.FP16, 0, k == 0, k == 1)
        for rows in zip(a_words.tolist(), b_words.tolist(), strict=True)
        for k, pair in enumerate(zip(*rows, strict=True))
    ]
    flags = np.array([Flag.INEXACT | Flag.UNDERFLOW, Flag.INEXACT])
    zeros = np.zeros(2, dtype=np.int64)
    wanted = sum_columns(zeros + 0x0400, flags, zeros + Precision.FP16, zeros)
    with CompiledUnit(DotProduct(ENTRIES), "dot_product") as unit:
        demand(unit, [Stimulus({"i": terms(given)}, {"o": wanted})], seed=1)


def test_sums_of_fp16_far_beyond_what_it_holds() -> None:
    """Up to 2**14 products of 2**30 or nearly 2**32, then less a small one."""
    given: list[Term] = []
    totals = []
    for length, largest in ((2048, 0x7800), (4096, 0xF800), (8191, 0x7BFF), (8191, 0xFBFF)):
        a = np.array([largest << 16 | largest] * length + [0x3C00])
        b = np.array([0x7BFF7BFF] * length + [0xC500])
        pairs = zip(a.tolist(), b.tolist(), strict=True)
        given += [(*pair, Precision.FP16, 0, k == 0, k == length) for k, pair in enumerate(pairs)]
        totals.append(dot(a[None], b[None], Precision.FP16))
    words, flags = (np.concatenate(own) for own in zip(*totals, strict=True))
    assert words.tolist() == [0x7C00, 0xFC00, 0x7C00, 0xFC00]
    zeros = np.zeros(len(words), dtype=np.int64)
    wanted = sum_columns(words, flags, zeros + Precision.FP16, zeros)
    with CompiledUnit(DotProduct(ENTRIES), "dot_product") as unit:
        demand(unit, [Stimulus({"i": terms(given)}, {"o": wanted})], seed=1)


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
    words = [packed(side, precision) for side in (a, b)]
    zeros = np.zeros(len(a), dtype=np.int64)
    given = np.stack([*words, zeros + precision, zeros, zeros + 1, zeros + 1], axis=1)
    totals = (a * b).sum(axis=1) & 0xFFFF_FFFF
    wanted = sum_columns(totals, zeros, zeros + precision, zeros)
    with CompiledUnit(IntegerDotProduct(ENTRIES), "integer_dot_product") as unit:
        demand(unit, [Stimulus({"i": terms(given)}, {"o": wanted})], seed=1)


def same_in_all_lanes(factor: int, index: int, length: int) -> list[Term]:
    """Pairs of INT8's words that are the same number in all lanes: a whole sum."""
    word = int(packed(np.full((1, Precision.INT8.lanes), factor), Precision.INT8)[0])
    pair = (word, word, Precision.INT8, index)
    return [(*pair, k == 0, k == length - 1) for k in range(length)]


def total_of(total: int, index: int = 0) -> tuple[int, int, int, int]:
    """A sum of INT8 that may have wrapped around."""
    return total & 0xFFFF_FFFF, Flag.OVERFLOW * (total >= 1 << 31), Precision.INT8, index


def totals_are(unit: CompiledUnit, given: list[Term], wanted: list[tuple[int, ...]]) -> None:
    results = sum_columns(*np.array(wanted).T)
    demand(unit, [Stimulus({"i": terms(given)}, {"o": results})], seed=1)


@pytest.mark.parametrize("kind", [DotProduct, IntegerDotProduct], ids=lambda k: k.__name__)
@pytest.mark.parametrize(("factor", "pairs"), [(-128, 32767), (-128, 32768), (127, 33288)])
def test_integers_wrap_around_and_tell(
    kind: type[DotProduct | IntegerDotProduct], factor: int, pairs: int
) -> None:
    with CompiledUnit(kind(ENTRIES), NAMES[kind]) as unit:
        given = same_in_all_lanes(factor, 0, pairs)
        totals_are(unit, given, [total_of(4 * pairs * factor * factor)])


@pytest.mark.parametrize("others", [0, 1, 2, 3])
def test_a_sum_that_has_wrapped_around_tells_it_at_its_end(others: int) -> None:
    """However many sums of one pair come in between, and then no longer."""
    wraps = same_in_all_lanes(-128, 0, 32769)[:-1] + same_in_all_lanes(1, 0, 21)[1:]
    given: list[Term] = []
    for row in (wraps, same_in_all_lanes(1, 0, 20)):
        for term in row:
            given.append(term)
            for other in range(1, others + 1):
                given += same_in_all_lanes(1, other, 1)
    apart = [total_of(4, other) for other in range(1, others + 1)]
    wanted = apart * (len(wraps) - 1) + [total_of(4 * (32768 * 128**2 + 20)), *apart]
    wanted += apart * 19 + [total_of(80), *apart]
    with CompiledUnit(IntegerDotProduct(ENTRIES), "integer_dot_product") as unit:
        totals_are(unit, given, wanted)

"""Golden sums of products against exact fractions and against SoftFloat, step by step."""

from fractions import Fraction

import numpy as np
import pytest
import softfloatpy

from adagrain.models.dot_product import EXACT_PRODUCTS, dot
from adagrain.models.float import Flag
from adagrain.models.precision import Precision, packed, unpacked
from adagrain.sim.dot_product.traffic import sum_words

FP16, FP32 = Precision.FP16, Precision.FP32


def fraction(word: int) -> Fraction:
    """Value of a finite number of FP16."""
    exponent, rest = word >> 10 & 31, word & 1023
    magnitude = Fraction(rest + (1024 if exponent else 0), 1) * Fraction(2) ** (
        max(exponent, 1) - 25
    )
    return -magnitude if word >> 15 else magnitude


def nearest(value: Fraction) -> int:
    """The number of FP16 that is nearest to a value, by looking at all that are not negative."""
    magnitudes = [fraction(word) for word in range(0x7C00)] + [Fraction(65536)]
    low = max(n for n, magnitude in enumerate(magnitudes) if magnitude <= min(abs(value), 65536))
    candidates = range(low, min(low + 2, len(magnitudes)))
    best = min(candidates, key=lambda n: (abs(magnitudes[n] - abs(value)), n & 1))
    return best | (0x8000 if value < 0 else 0)


@pytest.mark.parametrize("seed", range(20))
def test_fp16_is_rounded_once(seed: int) -> None:
    rng = np.random.default_rng(seed)
    numbers = rng.integers(0, 0x7C00, (2, 12)) | rng.integers(0, 2, (2, 12)) << 15
    if seed % 2:  # near each other, so that they may cancel
        numbers = numbers & 0x83FF | 0x3C00 - (seed << 9)
    a, b = packed(numbers.reshape(2, 6, 2), FP16)
    pairs = zip(numbers[0].tolist(), numbers[1].tolist(), strict=True)
    total = sum((fraction(x) * fraction(y) for x, y in pairs), Fraction(0))
    words, flags = dot(a[None], b[None], FP16)
    assert words[0] == nearest(total)
    assert bool(flags[0] & Flag.INEXACT) == (fraction(int(words[0]) & 0x7BFF) != abs(total))


def test_the_order_of_fp16_does_not_matter() -> None:
    rng = np.random.default_rng(3)
    words = np.stack([sum_words(FP16, 30, rng) for _ in range(200)], axis=1)
    order = rng.permutation(30)
    here, there = dot(*words, FP16), dot(*words[:, :, order], FP16)
    np.testing.assert_array_equal(here.words, there.words)
    np.testing.assert_array_equal(here.flags, there.flags)


@pytest.mark.parametrize("seed", range(50))
def test_fp32_is_softfloat_step_by_step(seed: int) -> None:
    a, b = sum_words(FP32, 20, np.random.default_rng(seed))
    softfloatpy.set_tininess_mode(softfloatpy.TininessMode.AFTER_ROUNDING)
    softfloatpy.set_exception_flags(softfloatpy.ExceptionFlag(0))
    total = softfloatpy.Float32.from_bytes(bytes(4))
    for pair in zip(a.tolist(), b.tolist(), strict=True):
        x, y = (softfloatpy.Float32.from_bytes(word.to_bytes(4, "big")) for word in pair)
        total = softfloatpy.f32_add(total, softfloatpy.f32_mul(x, y))
    words, flags = dot(a[None], b[None], FP32)
    assert words[0] == int.from_bytes(total.to_bytes(), "big")
    assert flags[0] == int(softfloatpy.get_exception_flags())


@pytest.mark.parametrize("precision", [Precision.INT8, Precision.INT4])
def test_integers_wrap_around_and_tell(precision: Precision) -> None:
    most = -1 << (precision.bits - 1)
    word = packed(np.full((1, precision.lanes), most), precision)[0]
    k = (1 << 31) // (most * most * precision.lanes)
    rows = np.full((1, k), word)
    assert [int(x[0]) for x in dot(rows, rows, precision)] == [1 << 31, Flag.OVERFLOW]
    assert [int(x[0]) for x in dot(rows[:, 1:], rows[:, 1:], precision)] == [
        (1 << 31) - most * most * precision.lanes,
        0,
    ]


@pytest.mark.parametrize(
    ("terms", "expected"),
    [
        ([(0x7C00, 0x3C00), (0xFC00, 0x3C00)], (0x7E00, Flag.INVALID)),  # inf - inf
        ([(0x7C00, 0x0000), (0x3C00, 0x3C00)], (0x7E00, Flag.INVALID)),  # inf * 0
        ([(0x7C00, 0xBC00), (0x3C00, 0x3C00)], (0xFC00, 0)),
        ([(0x7E00, 0x3C00), (0x3C00, 0x3C00)], (0x7E00, 0)),
        ([(0x7D00, 0x3C00), (0x3C00, 0x3C00)], (0x7E00, Flag.INVALID)),  # a signalling NaN
        ([(0x7BFF, 0x7BFF), (0x3C00, 0x3C00)], (0x7C00, Flag.OVERFLOW | Flag.INEXACT)),
        ([(0x0001, 0x8001), (0, 0)], (0x8000, Flag.UNDERFLOW | Flag.INEXACT)),
    ],
)
def test_special_sums_of_fp16(terms: list[tuple[int, int]], expected: tuple[int, int]) -> None:
    a, b = packed(np.array(terms).T.copy().reshape(2, 1, 2), FP16)
    words, flags = dot(a[None], b[None], FP16)
    assert (int(words[0]), int(flags[0])) == expected


def test_too_many_terms_of_fp16() -> None:
    words = np.zeros((1, EXACT_PRODUCTS // 2 + 1), dtype=np.int64)
    with pytest.raises(ValueError, match="a sum of FP16 must have at most 16384 terms, not 16386"):
        dot(words, words, FP16)


@pytest.mark.parametrize("precision", Precision)
def test_words_hold_numbers(precision: Precision) -> None:
    words = np.random.default_rng(1).integers(0, 1 << 32, 100)
    np.testing.assert_array_equal(packed(unpacked(words, precision), precision), words)


def test_a_word_that_is_not_full() -> None:
    with pytest.raises(ValueError, match="numbers must come by 4 to a word of INT8, not 3"):
        packed(np.zeros((2, 3), dtype=np.int64), Precision.INT8)


def test_integers_have_no_floating_point_format() -> None:
    with pytest.raises(ValueError, match="precision must be a floating-point one, not INT4"):
        _ = Precision.INT4.row

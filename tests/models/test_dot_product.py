"""Golden sums of products against exact fractions and against SoftFloat, step by step."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
import softfloatpy

from adagrain.models.arithmetic.float import Flag
from adagrain.models.dot_product import EXACT_PRODUCTS, dot
from adagrain.models.interface.precision import Precision, packed, unpacked
from adagrain.sim.benches.dot_product.traffic import sum_words
from adagrain.sim.benches.float.traffic import extreme

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


def begin_softfloat() -> None:
    softfloatpy.set_tininess_mode(softfloatpy.TininessMode.AFTER_ROUNDING)
    softfloatpy.set_exception_flags(softfloatpy.ExceptionFlag(0))


def sum_of_fp32(a: list[int], b: list[int]) -> tuple[int, int]:
    """SoftFloat's word, step by step, and its flags."""
    begin_softfloat()
    total = softfloatpy.Float32.from_bytes(bytes(4))
    for pair in zip(a, b, strict=True):
        x, y = (softfloatpy.Float32.from_bytes(word.to_bytes(4, "big")) for word in pair)
        total = softfloatpy.f32_add(total, softfloatpy.f32_mul(x, y))
    return int.from_bytes(total.to_bytes(), "big"), int(softfloatpy.get_exception_flags())


def special_sum_of_fp16(a: list[int], b: list[int]) -> tuple[int, bool]:
    """SoftFloat's infinity or NaN, or 0 for any other sum; and whether it raises INVALID.

    In double precision, in which no product and no sum of some of them overflows. NaNs come last.
    """
    begin_softfloat()
    numbers = [
        [softfloatpy.f16_to_f64(softfloatpy.Float16.from_bytes(w.to_bytes(2, "big"))) for w in side]
        for side in (a, b)
    ]
    products = [softfloatpy.f64_mul(x, y) for x, y in zip(*numbers, strict=True)]
    total = softfloatpy.Float64.from_bytes(bytes(8))
    for product in sorted(products, key=softfloatpy.Float64.is_nan):
        total = softfloatpy.f64_add(total, product)
    invalid = bool(int(softfloatpy.get_exception_flags()) & Flag.INVALID)
    found = softfloatpy.f64_to_f16(total)
    is_special = total.is_nan() or total.is_inf()
    return int.from_bytes(found.to_bytes(), "big") if is_special else 0, invalid


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


def test_what_terms_leave_of_each_other_is_exact() -> None:
    """1025 * 1025 - 1024 * 1026 is 1, at every place of a product whose 1 FP16 can tell."""
    numbers = np.array([[1025.0, -1024.0], [1025.0, 1026.0]])
    for x, y in itertools.product(range(-24, 6), repeat=2):
        if -24 <= x + y <= 15:
            words = np.ldexp(numbers, [[x], [y]]).astype(np.float16).view(np.uint16)
            a, b = packed(words.astype(np.int64).reshape(2, 1, 2), FP16)
            found, flags = dot(a[None], b[None], FP16)
            assert int(found[0]) == np.float16(2.0 ** (x + y)).view(np.uint16)
            assert not flags[0]


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
    words, flags = dot(a[None], b[None], FP32)
    assert (words[0], flags[0]) == sum_of_fp32(a.tolist(), b.tolist())


def test_sums_of_extreme_numbers_are_softfloats() -> None:
    """Of infinities, NaNs of both kinds, zeros, the smallest and the largest numbers, and ones."""
    rng = np.random.default_rng(7)
    for length in (2, 4, 6):
        numbers = rng.choice(extreme(FP32.fmt), (2, 2_000, length))
        words, flags = dot(*numbers, FP32)
        for pair, word, raised in zip(numbers.transpose(1, 0, 2), words, flags, strict=True):
            assert (word, raised) == sum_of_fp32(*pair.tolist()), pair
        numbers = rng.choice(extreme(FP16.fmt), (2, 4_000, length))
        words, flags = dot(*packed(numbers.reshape(2, 4_000, -1, 2), FP16), FP16)
        for pair, word, raised in zip(numbers.transpose(1, 0, 2), words, flags, strict=True):
            special, invalid = special_sum_of_fp16(*pair.tolist())
            assert bool(raised & Flag.INVALID) == invalid, pair
            assert (word & 0x7FFF >= 0x7C00 and not raised & Flag.OVERFLOW) == bool(special), pair
            assert not special or (word, raised & ~Flag.INVALID) == (special, 0), pair


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
        ([(0x7C00, 0x7E00), (0xFC00, 0x3C00)], (0x7E00, 0)),  # inf * NaN - inf
        ([(0x7C00, 0x7E00), (0x0000, 0x7C00)], (0x7E00, Flag.INVALID)),
        ([(0x7C00, 0x3C00), (0xFC00, 0x3C00), (0x7E00, 0), (0, 0)], (0x7E00, Flag.INVALID)),
        ([(0x7D00, 0x3C00), (0x3C00, 0x3C00)], (0x7E00, Flag.INVALID)),  # a signalling NaN
        ([(0x7BFF, 0x7BFF), (0x3C00, 0x3C00)], (0x7C00, Flag.OVERFLOW | Flag.INEXACT)),
        ([(0x0001, 0x8001), (0, 0)], (0x8000, Flag.UNDERFLOW | Flag.INEXACT)),
    ],
)
def test_special_sums_of_fp16(terms: list[tuple[int, int]], expected: tuple[int, int]) -> None:
    a, b = packed(np.array(terms).T.copy().reshape(2, -1, 2), FP16)
    words, flags = dot(a[None], b[None], FP16)
    assert (int(words[0]), int(flags[0])) == expected


@pytest.mark.parametrize("largest", [0x7800, 0x7BFF])
@pytest.mark.parametrize("words", [1, 64, 2048, 4096, EXACT_PRODUCTS // 2 - 1])
def test_fp16_is_infinite_however_far_its_sum_is_beyond(words: int, largest: int) -> None:
    """And finite again where the same comes off."""
    pair, more = largest << 16 | largest, (0x3C00, 0x4500)
    a, b = (np.array([[pair] * words + [own]]) for own in more)
    found, flags = dot(a, b, FP16)
    assert found[0] == 0x7C00 and flags[0] == Flag.OVERFLOW | Flag.INEXACT
    found, flags = dot(a ^ [[0x8000 * (k < words) for k in range(words + 1)]], b, FP16)
    assert found[0] == 0x4500 and not flags[0]


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
        _ = Precision.INT4.fmt

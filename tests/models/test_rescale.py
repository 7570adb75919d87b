"""Rescaled sums against exact fractions and against SoftFloat; rows packed into words."""

import itertools
import math
import os
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import softfloatpy
from hypothesis import given, settings
from hypothesis import strategies as st

from adagrain.models.arithmetic.float import Flag, Rounded
from adagrain.models.interface.precision import LEVELS, Precision, unpacked
from adagrain.models.rescale import EXPONENTS, packed_rows, rescale
from adagrain.sim.benches.float.traffic import special

FULL = os.environ.get("ADAGRAIN_FULL") == "1"

FP32, FP16, INT8, INT4 = Precision

#: Bits of the significand, smallest and largest exponent of its highest bit.
RANGES = {FP32: (24, -126, 127), FP16: (11, -14, 15)}

#: SoftFloat's types.
SOFT = {INT8: softfloatpy.Int32, FP32: softfloatpy.Float32, FP16: softfloatpy.Float16}

every_target = pytest.mark.parametrize("to", Precision, ids=lambda p: p.name)


def value_of(word: int, mode: Precision) -> Fraction | float:
    """The value of a sum: exact, or infinite, or not a number."""
    if mode.integer:
        return Fraction(word - (word >> 31 << 32))
    bits, low, high = RANGES[mode]
    sign = -1 if word >> (mode.bits - 1) else 1
    field, fraction = word >> (bits - 1) & (2 * high + 1), word & ((1 << (bits - 1)) - 1)
    if field == 2 * high + 1:
        return math.nan if fraction else sign * math.inf
    significand = fraction + (1 << (bits - 1) if field else 0)
    return sign * significand * Fraction(2) ** (max(field - high, low) - bits + 1)


def is_signalling(word: int, mode: Precision) -> bool:
    return not mode.integer and word >> (RANGES[mode][0] - 2) & 1 == 0


def is_negative(word: int, mode: Precision) -> bool:
    return bool(word >> (31 if mode.integer else mode.bits - 1))


def expected(word: int, mode: Precision, exponent: int, to: Precision) -> tuple[int, int]:
    """The number and its flags, from the definition."""
    value = value_of(word, mode)
    if isinstance(value, float):
        return _of_special(value, to, is_signalling(word, mode))
    value *= Fraction(2) ** exponent
    if not to.integer:
        return _of_float(value, is_negative(word, mode), to)
    number = round(value)  # a Fraction is rounded to even
    clamped = max(-LEVELS[to], min(LEVELS[to], number))
    raised = Flag.INEXACT * (clamped != value) | Flag.OVERFLOW * (clamped != number)
    return clamped & ((1 << to.bits) - 1), raised


def _of_special(value: float, to: Precision, signalling: bool) -> tuple[int, int]:
    if math.isnan(value):
        if to.integer:
            return 0, Flag.INVALID
        return to.fmt.quiet_nan, Flag.INVALID if signalling else 0
    if to.integer:
        clamped = LEVELS[to] if value > 0 else -LEVELS[to]
        return clamped & ((1 << to.bits) - 1), Flag.OVERFLOW | Flag.INEXACT
    return to.fmt.overflow_value | (value < 0) << (to.bits - 1), 0


def _of_float(value: Fraction, negative: bool, to: Precision) -> tuple[int, int]:
    bits, low, high = RANGES[to]
    size, sign = abs(value), negative << (to.bits - 1)
    at = size.numerator.bit_length() - size.denominator.bit_length() if size else low
    at -= Fraction(2) ** at > size
    place = Fraction(2) ** (max(at, low) - bits + 1)
    kept = round(size / place)
    if kept * place >= Fraction(2) ** (high + 1):
        return to.fmt.overflow_value | sign, Flag.OVERFLOW | Flag.INEXACT
    free = Fraction(2) ** (at - bits + 1)  # the last place, were there no smallest exponent
    tiny = round(size / free) * free < Fraction(2) ** low
    inexact = kept * place != size
    field = max(at, low) - low  # the significand's highest bit adds one
    raised = Flag.INEXACT * inexact | Flag.UNDERFLOW * (inexact and tiny)
    return (field << (bits - 1)) + kept | sign, raised


def demand_equal(words: np.ndarray, mode: Precision, exponent: int, to: Precision) -> None:
    found = rescale(words, mode, np.array(exponent), to)
    pairs = zip(*(part.tolist() for part in found), strict=True)
    for word, pair in zip(words.tolist(), pairs, strict=True):
        wanted = expected(word, mode, exponent, to)
        assert pair == wanted, f"{word:#x} of {mode.name} times 2**{exponent} as {to.name}"


@every_target
@pytest.mark.parametrize("exponent", [4000, 10**18])
def test_exponents_however_large(exponent: int, to: Precision) -> None:
    words = np.array([0x3F800000])
    for sign in (-1, 1):
        found = rescale(words, FP32, np.array([sign * exponent]), to)
        near = rescale(words, FP32, np.array([sign * 200]), to)
        assert found.words == near.words and found.flags == near.flags


@every_target
@pytest.mark.parametrize("exponent", [-30, -12, -3, 0, 1, 6, 20])
def test_numbers_of_fp16(exponent: int, to: Precision) -> None:
    """All of them times 1; times another power of two, all of them or each seventh."""
    step = 1 if FULL or not exponent else 7
    demand_equal(np.arange(exponent % step, 1 << 16, step), FP16, exponent, to)


@every_target
def test_special_numbers_by_every_exponent(to: Precision) -> None:
    integers = [1 << n for n in range(32)] + [(1 << n) - 1 for n in range(33)]
    integers += [(1 << 32) - (1 << n) for n in range(32)] + [3, 5, 7, 13, 15, 255, 381, 509]
    for exponent in EXPONENTS:
        demand_equal(special(FP32.fmt)[exponent % 3 :: 3], FP32, exponent, to)
        demand_equal(np.array(integers), INT8, exponent, to)


@every_target
@given(word=st.integers(0, (1 << 32) - 1), mode=st.sampled_from(Precision), data=st.data())
@settings(max_examples=400, deadline=None)
def test_any_sum(to: Precision, word: int, mode: Precision, data: st.DataObject) -> None:
    if mode is FP16:
        word &= 0xFFFF
    value = value_of(word, mode)
    exponents = st.integers(EXPONENTS[0], EXPONENTS[-1])
    if isinstance(value, Fraction) and value:  # near the target's range, too
        at = abs(value.numerator).bit_length() - value.denominator.bit_length()
        near = st.integers(-30, 20).map(lambda n: max(-128, min(127, n - at)))
        exponents = st.one_of(exponents, near)
    exponent = data.draw(exponents)
    demand_equal(np.array([word]), mode, exponent, to)


@pytest.mark.parametrize(
    ("mode", "to", "name"),
    [
        (INT8, FP32, "i32_to_f32"),
        (INT8, FP16, "i32_to_f16"),
        (FP32, FP16, "f32_to_f16"),
        (FP16, FP32, "f16_to_f32"),
    ],
)
def test_softfloat_converts_alike(mode: Precision, to: Precision, name: str) -> None:
    bits = 32 if mode.integer else mode.bits
    rng = np.random.default_rng(5)
    words = rng.integers(0, 1 << bits, 20_000) >> rng.integers(0, bits, 20_000)
    if not mode.integer:
        words = np.concatenate([words, special(mode.fmt)])
    convert = getattr(softfloatpy, name)
    found = rescale(words, mode, np.array(0), to)
    for word, *pair in zip(words.tolist(), *(part.tolist() for part in found), strict=True):
        assert pair == soft(convert, SOFT[mode].from_bytes(word.to_bytes(bits // 8, "big"))), word


@pytest.mark.parametrize("exponent", [*range(-126, 128, 11), 127])
def test_softfloat_multiplies_alike(exponent: int) -> None:
    words = special(FP32.fmt)
    power = SOFT[FP32].from_bytes((exponent + 127 << 23).to_bytes(4, "big"))
    found = rescale(words, FP32, np.array(exponent), FP32)
    for word, *pair in zip(words.tolist(), *(part.tolist() for part in found), strict=True):
        number = SOFT[FP32].from_bytes(word.to_bytes(4, "big"))
        assert pair == soft(softfloatpy.f32_mul, number, power), hex(word)


def soft(function: Callable[..., Any], *operands: Any) -> list[int]:
    """A result of SoftFloat and the flags that it raises."""
    softfloatpy.set_tininess_mode(softfloatpy.TininessMode.AFTER_ROUNDING)
    softfloatpy.set_exception_flags(softfloatpy.ExceptionFlag(0))
    result = function(*operands)
    return [int.from_bytes(result.to_bytes(), "big"), int(softfloatpy.get_exception_flags())]


@every_target
@pytest.mark.parametrize("columns", [1, 3, 4, 9])
def test_rows_are_packed_little_end_first(columns: int, to: Precision) -> None:
    rng = np.random.default_rng(columns)
    numbers = rng.integers(0, 1 << to.bits, (5, columns))
    flags = rng.integers(0, 32, (5, columns))
    words, raised = packed_rows(Rounded(numbers, flags), to)
    assert words.shape == raised.shape == (5, -(-columns // to.lanes))
    lanes = unpacked(words, to).reshape(5, -1) & ((1 << to.bits) - 1)
    assert (lanes[:, :columns] == numbers).all()
    assert not lanes[:, columns:].any()
    for row, word in itertools.product(range(5), range(words.shape[1])):
        part = flags[row, word * to.lanes : (word + 1) * to.lanes]
        assert raised[row, word] == np.bitwise_or.reduce(part)

"""IEEE 754 multiplication, addition and conversion on integers, with their exception flags.

The golden model of ``hdl/arithmetic/float``, for every format of the table in
``models/interface/formats.py``: round to nearest even, subnormal numbers in and out, the canonical
quiet NaN, and underflow where a result is tiny after rounding, as RISC-V and SoftFloat have it. No
float of the host takes part.
"""

import enum
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from adagrain.models.interface.formats import ElementFormat

__all__ = [
    "Exact",
    "Flag",
    "Rounded",
    "add",
    "convert",
    "exact_numbers",
    "exact_products",
    "infinity",
    "multiply",
    "nearest",
    "nearest_integer",
    "round_exact",
    "with_nans",
]

Words = NDArray[np.int64]
Truths = NDArray[np.bool_]


_Parts = TypeVar("_Parts", "Rounded", "_Number")


class Flag(enum.IntFlag):
    """The exception flags, by their bits in RISC-V's register."""

    INEXACT = 1
    UNDERFLOW = 2
    OVERFLOW = 4
    DIVIDE_BY_ZERO = 8  #: no operation here raises it
    INVALID = 16


class Rounded(NamedTuple):
    """Results, and of each the flags that it raises."""

    words: Words
    flags: Words


class Exact(NamedTuple):
    """Values before rounding: a finite one is ``significand * 2**exponent``."""

    negative: Truths
    significand: Words
    exponent: Words
    infinite: Truths
    nan: Truths
    invalid: Truths


class _Number(NamedTuple):
    """The operands, unpacked: a finite one is ``significand * 2**exponent``."""

    negative: Truths
    significand: Words
    exponent: Words
    zero: Truths
    infinite: Truths
    nan: Truths
    signalling: Truths


def multiply(a: Words, b: Words, fmt: ElementFormat) -> Rounded:
    """Products of numbers of one format.

    Parameters
    ----------
    a, b : array of int64
        The operands' bits; they are broadcast.
    fmt : ElementFormat
        Format of operands and products.
    """
    return nearest(exact_products(a, b, fmt), fmt)


def exact_products(a: Words, b: Words, fmt: ElementFormat) -> Exact:
    """Products before rounding; parameters as in :func:`multiply`."""
    x, y = _unpack(a, fmt), _unpack(b, fmt)
    undefined = (x.infinite & y.zero) | (x.zero & y.infinite)
    nan = x.nan | y.nan | undefined
    return Exact(
        negative=x.negative ^ y.negative,
        significand=x.significand * y.significand,
        exponent=x.exponent + y.exponent,
        infinite=(x.infinite | y.infinite) & ~nan,
        nan=nan,
        invalid=x.signalling | y.signalling | undefined,
    )


def add(a: Words, b: Words, fmt: ElementFormat) -> Rounded:
    """Sums of numbers of one format; parameters as in :func:`multiply`."""
    x, y = _unpack(a, fmt), _unpack(b, fmt)
    ahead = x.exponent >= y.exponent
    large, small = _where(ahead, x, y), _where(ahead, y, x)

    # The larger one is shifted up until nothing of the smaller one is lost, or until what is
    # lost lies so deep below the last place that only its presence matters.
    distance = large.exponent - small.exponent
    up = np.minimum(distance, fmt.mantissa_bits + 4)
    down = np.minimum(distance - up, 62)
    lost = (small.significand & ((np.int64(1) << down) - 1)) != 0
    augend, addend = large.significand << up, small.significand >> down
    differ = large.negative != small.negative
    total = np.where(differ, augend - addend - lost, augend + addend)
    flipped = total < 0
    negative = np.where(total == 0, large.negative & small.negative, large.negative ^ flipped)
    result = round_exact(negative, np.abs(total), large.exponent - up, fmt, below=lost)

    infinite = x.infinite | y.infinite
    result = _where(infinite, infinity(np.where(x.infinite, x.negative, y.negative), fmt), result)
    opposed = x.infinite & y.infinite & (x.negative != y.negative)
    invalid = x.signalling | y.signalling | opposed
    return with_nans(x.nan | y.nan | opposed, invalid, result, fmt)


def convert(a: Words, source: ElementFormat, target: ElementFormat) -> Rounded:
    """Numbers of one format in another.

    Parameters
    ----------
    a : array of int64
        Bits of the numbers.
    source, target : ElementFormat
        Their format, and that of the results.
    """
    return nearest(exact_numbers(a, source), target)


def exact_numbers(a: Words, fmt: ElementFormat) -> Exact:
    """Values of numbers of a format.

    Parameters
    ----------
    a : array of int64
        Their bits.
    fmt : ElementFormat
        Their format.
    """
    x = _unpack(a, fmt)
    return Exact(x.negative, x.significand, x.exponent, x.infinite, x.nan, x.signalling)


def nearest(x: Exact, fmt: ElementFormat) -> Rounded:
    """The numbers of a format that are nearest to exact values; significands are below 2**62."""
    finite = round_exact(x.negative, x.significand, x.exponent, fmt)
    result = _where(x.infinite, infinity(x.negative, fmt), finite)
    return with_nans(x.nan, x.invalid, result, fmt)


def nearest_integer(x: Exact, top: int) -> Rounded:
    """The integers from ``-top`` to ``top`` that are nearest to exact values, the even one of two.

    Beyond them, and for infinities, it is the last one, with OVERFLOW and INEXACT; for NaNs
    0, with INVALID.

    Parameters
    ----------
    x : Exact
        Values; their significands are below 2**32.
    top : int
        The largest integer, below 2**16.

    Returns
    -------
    Rounded
        Signed integers, and their flags.
    """
    beyond = x.infinite | (x.exponent + _bit_length(x.significand) > top.bit_length())
    beyond &= x.infinite | (x.significand != 0)
    kept, inexact = _shift_right(x.significand, np.where(beyond, 0, -x.exponent), below=False)
    overflow = beyond | (kept > top)
    magnitude = np.where(overflow, top, kept)
    flags = np.where(inexact | overflow, int(Flag.INEXACT), 0)
    flags |= np.where(overflow, int(Flag.OVERFLOW), 0)
    return Rounded(
        np.where(x.nan, 0, np.where(x.negative, -magnitude, magnitude)),
        np.where(x.nan, int(Flag.INVALID), flags),
    )


def _unpack(words: Words, fmt: ElementFormat) -> _Number:
    words = np.asarray(words, dtype=np.int64)
    fraction = words & ((1 << fmt.mantissa_bits) - 1)
    top = (1 << fmt.exponent_bits) - 1
    field = words >> fmt.mantissa_bits & top
    magnitude = field << fmt.mantissa_bits | fraction
    special = magnitude >= fmt.overflow_value
    nan = special & (magnitude != fmt.overflow_value) if fmt.infinities else special
    return _Number(
        negative=(words >> (fmt.bits - 1) & 1) != 0,
        significand=np.where(
            special, 0, np.where(field != 0, fraction | 1 << fmt.mantissa_bits, fraction)
        ),
        exponent=np.maximum(field, 1) - (fmt.bias + fmt.mantissa_bits),
        zero=(field == 0) & (fraction == 0),
        infinite=special & ~nan,
        nan=nan,
        signalling=nan & (fraction >> (fmt.mantissa_bits - 1) == 0),
    )


def round_exact(
    negative: Truths,
    significand: Words,
    exponent: Words,
    fmt: ElementFormat,
    below: Truths | bool = False,
) -> Rounded:
    """The nearest number of a format, the even one of two.

    Parameters
    ----------
    negative : array of bool
        Signs.
    significand, exponent : array of int64
        The exact magnitude is ``significand * 2**exponent``; significands are below 2**62.
    fmt : ElementFormat
        Format of the results.
    below : array of bool
        The exact magnitude lies a little above that; the significand then has at least two bits
        more than the format.
    """
    lowest = 1 - fmt.bias - fmt.mantissa_bits
    normal = exponent + _bit_length(significand) - (fmt.mantissa_bits + 1)
    kept, inexact = _shift_right(significand, np.maximum(normal, lowest) - exponent, below)
    place = np.maximum(normal, lowest)
    field = np.where(kept >> fmt.mantissa_bits != 0, place - lowest + 1, 0)
    # What rounding carries over raises the exponent by itself, since the fraction is then zero.
    magnitude = np.where(field != 0, (field - 1) << fmt.mantissa_bits, 0) + kept

    unbounded, _ = _shift_right(significand, normal - exponent, below)
    tiny = normal + (unbounded >> (fmt.mantissa_bits + 1)) < lowest
    overflow = magnitude >= fmt.overflow_value
    words = np.minimum(magnitude, fmt.overflow_value) | _sign(negative, fmt)
    flags = sum(
        np.where(raised, int(flag), 0)
        for flag, raised in (
            (Flag.INEXACT, inexact | overflow),
            (Flag.UNDERFLOW, inexact & tiny),
            (Flag.OVERFLOW, overflow),
        )
    )
    return Rounded(words, np.asarray(flags))


def _shift_right(value: Words, places: Words, below: Truths | bool) -> tuple[Words, Truths]:
    """Values without their lowest bits, to nearest even; whether anything was lost."""
    up, down = np.clip(-places, 0, 62), np.clip(places, 0, 62)
    kept = value << up >> down
    rest = value - (value >> down << down)
    half = (np.int64(1) << down) >> 1
    above = (rest > half) | ((rest == half) & (below | (kept & 1 != 0)))
    inexact = (rest != 0) | below
    return kept + np.where(above & (down != 0), 1, 0), inexact


def _bit_length(value: Words) -> Words:
    length = np.zeros_like(value)
    for step in (32, 16, 8, 4, 2, 1):
        large = value >> step != 0
        length = length + np.where(large, step, 0)
        value = np.where(large, value >> step, value)
    return length + (value != 0)


def _sign(negative: Truths, fmt: ElementFormat) -> Words:
    return negative.astype(np.int64) << (fmt.bits - 1)


def infinity(negative: Truths, fmt: ElementFormat) -> Rounded:
    """Infinities, which raise no flag; where there are none, what overflows, with its flags."""
    words = _sign(negative, fmt) | fmt.overflow_value
    flags = 0 if fmt.infinities else Flag.OVERFLOW | Flag.INEXACT
    return Rounded(words, np.full_like(words, flags))


def with_nans(nan: Truths, invalid: Truths, otherwise: Rounded, fmt: ElementFormat) -> Rounded:
    """The canonical NaN where there is one, with INVALID where it comes of an invalid operation."""
    words = np.where(nan, fmt.quiet_nan, otherwise.words)
    return Rounded(words, np.where(nan, np.where(invalid, Flag.INVALID, 0), otherwise.flags))


def _where(chosen: Truths, a: _Parts, b: _Parts) -> _Parts:
    return type(a)(*(np.where(chosen, p, q) for p, q in zip(a, b, strict=True)))

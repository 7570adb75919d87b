"""Sums of products in four precisions: the golden model of ``hdl/dot_product``.

FP32 is rounded after each product and after each sum, in the order of the terms; FP16 only once,
at the end, so that the order does not matter; integers are exact modulo 2**32, with a flag where
they wrap around.
"""

import numpy as np
from numpy.typing import NDArray

from .arithmetic.float import (
    Flag,
    Rounded,
    add,
    exact_products,
    infinity,
    multiply,
    round_exact,
    with_nans,
)
from .interface.precision import Precision, unpacked

__all__ = [
    "EXACT_BITS",
    "EXACT_PLACES",
    "EXACT_PRODUCTS",
    "INTEGER_BITS",
    "dot",
    "round_fixed",
]

Words = NDArray[np.int64]

#: Bits of a sum of integers.
INTEGER_BITS = 32

#: Bits of FP16's sum in fixed point, those of them behind the point, and how many products it
#: surely holds.
EXACT_BITS, EXACT_PLACES, EXACT_PRODUCTS = 96, 48, 1 << 14

#: FP16's sum is kept in two parts, of which the lower one has so many bits.
_LOW = 40


def dot(a: Words, b: Words, precision: Precision) -> Rounded:
    """Dot products of rows of words.

    Parameters
    ----------
    a, b : array of int64, shape (n, k)
        Words, as unsigned numbers; their lanes are terms too, little end first.
    precision : Precision
        How they are read.

    Returns
    -------
    Rounded
        Of shape (n,): words of FP32, of FP16, or integers of 32 bits, as unsigned numbers; flags,
        of which ``OVERFLOW`` tells that a sum of integers has wrapped around.

    Raises
    ------
    ValueError
        If there are more terms of FP16 than the sum surely holds.
    """
    x, y = (unpacked(words, precision) for words in (a, b))
    if precision is Precision.FP16:
        shape = len(a), a.shape[1] * precision.lanes
        return _exact(x.reshape(shape), y.reshape(shape))
    if precision.integer:
        return _integers(x, y)
    total = Rounded(np.zeros(len(a), dtype=np.int64), np.zeros(len(a), dtype=np.int64))
    for k in range(a.shape[1]):
        words, flags = _floats(total.words, x[:, k], y[:, k])
        total = Rounded(words, total.flags | flags)
    return total


def _floats(total: Words, a: Words, b: Words) -> Rounded:
    fmt = Precision.FP32.fmt
    product = multiply(a[:, 0], b[:, 0], fmt)
    words, flags = add(total, product.words, fmt)
    return Rounded(words, product.flags | flags)


def _integers(a: Words, b: Words) -> Rounded:
    """A sum wraps around where it leaves, before or behind its end, what its bits can hold."""
    half = 1 << (INTEGER_BITS - 1)
    exact = np.einsum("nkl,nkl->nk", a, b).cumsum(axis=1)
    wraps = ((exact < -half) | (exact >= half)).any(axis=1)
    total = exact[:, -1] if exact.shape[1] else np.zeros(len(a), dtype=np.int64)
    return Rounded(total & (2 * half - 1), np.where(wraps, int(Flag.OVERFLOW), 0))


def _exact(a: Words, b: Words) -> Rounded:
    if a.shape[1] > EXACT_PRODUCTS:
        raise ValueError(
            f"a sum of FP16 must have at most {EXACT_PRODUCTS} terms, not {a.shape[1]}"
        )
    fmt = Precision.FP16.fmt
    product = exact_products(a, b, fmt)
    sign = np.where(product.negative, -1, 1)
    places = product.exponent + EXACT_PLACES
    low_places = np.minimum(places, _LOW - 1)
    shifted = product.significand << low_places
    low = shifted & ((1 << _LOW) - 1)
    high = (shifted >> _LOW) << (places - low_places)
    high = np.where(places >= _LOW, product.significand << np.maximum(places - _LOW, 0), high)
    low = np.where(places >= _LOW, 0, low)
    finite = round_fixed((sign * high).sum(axis=1), (sign * low).sum(axis=1))

    plus, minus = ((product.infinite & (product.negative == n)).any(axis=1) for n in (False, True))
    result = Rounded(
        *(np.where(plus | minus, *pair) for pair in zip(infinity(minus, fmt), finite, strict=True))
    )
    opposed = plus & minus
    invalid = product.invalid.any(axis=1) | opposed
    return with_nans(product.nan.any(axis=1) | opposed, invalid, result, fmt)


def round_fixed(high: Words, low: Words) -> Rounded:
    """The numbers of FP16 that are nearest to ``(high * 2**40 + low) * 2**-48``.

    Parameters
    ----------
    high, low : array of int64
        Both signed, below 2**62.
    """
    high, low = high + (low >> _LOW), low & ((1 << _LOW) - 1)
    negative = high < 0
    high = np.where(negative, -high - (low != 0), high)
    high = np.minimum(high, 1 << _LOW)  # is infinite, and fits
    low = np.where(negative, -low & ((1 << _LOW) - 1), low)
    # What lies below 62 bits only tells how to round.
    down = _LOW - 14
    large = high != 0
    significand = np.where(large, high << 14 | low >> down, low)
    below = large & (low & ((1 << down) - 1) != 0)
    exponent = np.where(large, down - EXACT_PLACES, -EXACT_PLACES)
    return round_exact(negative, significand, exponent, Precision.FP16.fmt, below)

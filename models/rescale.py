"""Sums of a tile times powers of two, in another precision: the golden model of ``hdl/rescale``.

The exact value is rounded once, to nearest even. Integers are symmetric around zero, as those of
:mod:`adagrain.models.numerics.quantisation` are; what lies beyond them is clamped.
"""

import numpy as np
from numpy.typing import NDArray

from adagrain.models.interface.precision import LEVELS

from .arithmetic.float import Exact, Rounded, exact_numbers, nearest, nearest_integer
from .interface.precision import Precision, packed

__all__ = ["EXPONENTS", "packed_rows", "rescale"]

Words = NDArray[np.int64]

#: Exponents by which a sum can be moved.
EXPONENTS = range(-128, 128)

#: Exponent beyond which all is 0 or infinite.
_FAR = 4096


def rescale(words: Words, mode: Precision, exponents: Words, to: Precision) -> Rounded:
    """Sums times powers of two.

    Parameters
    ----------
    words : array of int64
        Sums, as unsigned numbers: of FP32, of FP16 with zeros above, or integers of 32 bits.
    mode : Precision
        In which they were computed.
    exponents : array of int64
        Any; the gateware takes those of :data:`EXPONENTS`. They are broadcast.
    to : Precision
        Of the results.

    Returns
    -------
    Rounded
        Bits of numbers of that precision, and the flags that rounding raises. An integer that was
        clamped has OVERFLOW and INEXACT; what is not a number becomes 0, with INVALID. FP32 and
        FP16 are as IEEE 754 has them.
    """
    words, exponents = np.broadcast_arrays(words, np.clip(exponents, -_FAR, _FAR))
    exact = _integers(words) if mode.integer else exact_numbers(words, mode.fmt)
    scaled = exact._replace(exponent=exact.exponent + exponents)
    if not to.integer:
        return nearest(scaled, to.fmt)
    numbers, flags = nearest_integer(scaled, LEVELS[to])
    return Rounded(numbers & ((1 << to.bits) - 1), flags)


def packed_rows(numbers: Rounded, to: Precision) -> Rounded:
    """Rows of numbers in words, little end first, the last one of each filled with zeros.

    Parameters
    ----------
    numbers : Rounded
        Bits and flags, of shape (rows, columns).
    to : Precision
        Of the numbers.

    Returns
    -------
    Rounded
        Words, and the flags of all numbers in each.
    """
    missing = -numbers.words.shape[1] % to.lanes
    words, flags = (
        np.pad(part, ((0, 0), (0, missing))).reshape(len(part), -1, to.lanes) for part in numbers
    )
    return Rounded(packed(words, to), np.bitwise_or.reduce(flags, axis=-1))


def _integers(words: Words) -> Exact:
    """Integers of 32 bits as exact values."""
    values = (words ^ 1 << 31) - (1 << 31)
    never = np.zeros(words.shape, dtype=np.bool_)
    return Exact(values < 0, np.abs(values), np.zeros_like(values), never, never, never)

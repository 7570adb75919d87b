"""Values before they are rounded and after, and what floats have beside numbers."""

import enum
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from adagrain.models.interface.formats import ElementFormat

__all__ = [
    "Exact",
    "Flag",
    "Rounded",
    "Truths",
    "Words",
    "infinity",
    "sign_of",
    "where",
    "with_nans",
]

Words = NDArray[np.int64]
Truths = NDArray[np.bool_]

Parts = TypeVar("Parts", bound=tuple[NDArray[np.generic], ...])


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


def sign_of(negative: Truths, fmt: ElementFormat) -> Words:
    """Bits of the signs."""
    return negative.astype(np.int64) << (fmt.bits - 1)


def infinity(negative: Truths, fmt: ElementFormat) -> Rounded:
    """Infinities, which raise no flag; where there are none, what overflows, with its flags."""
    words = sign_of(negative, fmt) | fmt.overflow_value
    flags = 0 if fmt.infinities else Flag.OVERFLOW | Flag.INEXACT
    return Rounded(words, np.full_like(words, flags))


def with_nans(nan: Truths, invalid: Truths, otherwise: Rounded, fmt: ElementFormat) -> Rounded:
    """The canonical NaN where there is one, with INVALID where it comes of an invalid operation."""
    words = np.where(nan, fmt.quiet_nan, otherwise.words)
    return Rounded(words, np.where(nan, np.where(invalid, Flag.INVALID, 0), otherwise.flags))


def where(chosen: Truths, a: Parts, b: Parts) -> Parts:
    """Part by part, those of ``a`` where chosen, else those of ``b``."""
    return type(a)(*(np.where(chosen, p, q) for p, q in zip(a, b, strict=True)))

"""Exact values to the nearest numbers of a format, and to integers."""

import numpy as np

from adagrain.models.interface.formats import ElementFormat

from .values import Exact, Flag, Rounded, Truths, Words, infinity, sign_of, where, with_nans

__all__ = ["nearest", "nearest_integer", "round_exact"]


def nearest(x: Exact, fmt: ElementFormat) -> Rounded:
    """The numbers of a format that are nearest to exact values; significands are below 2**62."""
    finite = round_exact(x.negative, x.significand, x.exponent, fmt)
    result = where(x.infinite, infinity(x.negative, fmt), finite)
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
    words = np.minimum(magnitude, fmt.overflow_value) | sign_of(negative, fmt)
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

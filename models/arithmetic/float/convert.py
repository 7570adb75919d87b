"""Conversion from one format to another."""

from adagrain.models.interface.formats import ElementFormat

from .operand import unpack
from .round import nearest
from .values import Exact, Rounded, Words

__all__ = ["convert", "exact_numbers"]


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
    x = unpack(a, fmt)
    return Exact(x.negative, x.significand, x.exponent, x.infinite, x.nan, x.signalling)

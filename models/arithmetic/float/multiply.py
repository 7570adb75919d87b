"""Multiplication."""

from adagrain.models.interface.formats import ElementFormat

from .operand import unpack
from .round import nearest
from .values import Exact, Rounded, Words

__all__ = ["exact_products", "multiply"]


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
    x, y = unpack(a, fmt), unpack(b, fmt)
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

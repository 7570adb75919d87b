"""Sign, exponent and class of a product of floating-point numbers."""

from collections.abc import Iterator
from typing import Any

from amaranth.lib import data

from adagrain.models.interface.formats import ElementFormat

__all__ = ["product_class"]


def product_class(
    product: data.View, x: data.View, y: data.View, fmt: ElementFormat
) -> Iterator[Any]:
    """Assignments of sign, exponent and class.

    Parameters
    ----------
    product : view of unrounded_layout
        What is assigned to; its significand has twice the operands' bits.
    x, y : view of unpacked_layout
        The operands.
    fmt : ElementFormat
        Their format.
    """
    undefined = (x.infinite & y.zero) | (x.zero & y.infinite)
    yield product.sign.eq(x.sign ^ y.sign)
    yield product.exponent.eq(x.exponent + y.exponent - (fmt.bias - 1))
    nan = x.nan | y.nan | undefined
    yield product.infinite.eq((x.infinite | y.infinite) & ~nan)
    yield product.nan.eq(nan)
    yield product.invalid.eq(x.signalling | y.signalling | undefined)

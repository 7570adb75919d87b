"""Operands, unpacked."""

from typing import NamedTuple

import numpy as np

from adagrain.models.interface.formats import ElementFormat

from .values import Truths, Words

__all__ = ["Operand", "unpack"]


class Operand(NamedTuple):
    """The operands, unpacked: a finite one is ``significand * 2**exponent``."""

    negative: Truths
    significand: Words
    exponent: Words
    zero: Truths
    infinite: Truths
    nan: Truths
    signalling: Truths


def unpack(words: Words, fmt: ElementFormat) -> Operand:
    """Take numbers of a format apart."""
    words = np.asarray(words, dtype=np.int64)
    fraction = words & ((1 << fmt.mantissa_bits) - 1)
    top = (1 << fmt.exponent_bits) - 1
    field = words >> fmt.mantissa_bits & top
    magnitude = field << fmt.mantissa_bits | fraction
    special = magnitude >= fmt.overflow_value
    nan = special & (magnitude != fmt.overflow_value) if fmt.infinities else special
    return Operand(
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

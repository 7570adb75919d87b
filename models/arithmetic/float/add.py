"""Addition."""

import numpy as np

from adagrain.models.interface.formats import ElementFormat

from .operand import unpack
from .round import round_exact
from .values import Rounded, Words, infinity, where, with_nans

__all__ = ["add"]


def add(a: Words, b: Words, fmt: ElementFormat) -> Rounded:
    """Sums of numbers of one format; parameters as in :func:`~.multiply.multiply`."""
    x, y = unpack(a, fmt), unpack(b, fmt)
    ahead = x.exponent >= y.exponent
    large, small = where(ahead, x, y), where(ahead, y, x)

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
    result = where(infinite, infinity(np.where(x.infinite, x.negative, y.negative), fmt), result)
    opposed = x.infinite & y.infinite & (x.negative != y.negative)
    invalid = x.signalling | y.signalling | opposed
    return with_nans(x.nan | y.nan | opposed, invalid, result, fmt)

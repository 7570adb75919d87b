"""One word of each operand, in any of four precisions: the golden model of ``hdl/slice``."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .arithmetic.float import add, multiply
from .interface.precision import Operation, Precision, packed, unpacked

__all__ = ["LANES", "LANE_BITS", "Results", "compute"]

Words = NDArray[np.int64]

#: Integer results of a slice, and the bits of each.
LANES, LANE_BITS = 4, 16


class Results(NamedTuple):
    """Results of a slice for words.

    Attributes
    ----------
    lanes : array of int64, shape (..., 4)
        Four lanes of 16 bits, little end first: FP32's word in two of them; FP16's two words; the
        four products of INT8; the four sums of two products of INT4. Unused ones are 0.
    flags : array of int64, shape (..., 2)
        Exception flags of the first and the second floating-point number.
    """

    lanes: Words
    flags: Words


def compute(a: Words, b: Words, precision: Precision, operation: Operation) -> Results:
    """Results of a slice for words that are all of one precision.

    Parameters
    ----------
    a, b : array of int64, shape (n,)
        Words, as unsigned numbers.
    """
    x, y = unpacked(a, precision), unpacked(b, precision)
    lanes = np.zeros((len(a), LANES), dtype=np.int64)
    flags = np.zeros((len(a), 2), dtype=np.int64)
    if precision.integer:
        sums = (x * y).reshape(len(a), LANES, -1).sum(axis=-1)
        return Results(sums & ((1 << LANE_BITS) - 1), flags)
    apply = {Operation.MULTIPLY: multiply, Operation.ADD: add}[operation]
    rounded = apply(x, y, precision.fmt)
    words = packed(rounded.words, precision)
    lanes[:, 0], lanes[:, 1] = words & 0xFFFF, words >> LANE_BITS
    flags[:, : precision.lanes] = rounded.flags
    return Results(lanes, flags)

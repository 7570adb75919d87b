"""The keep-tables of :func:`adagrain.models.mask_network.keep_tables` from weights, compiled.

All numbers of the network are whole ones, and so are its sums, below 2**24: single precision holds
them exactly, in any order.
"""

import numpy as np
from numba import njit

from adagrain.models.interface.precision import LEVELS, Precision
from adagrain.models.numerics.in_order_kernel import product_in_order
from adagrain.models.numerics.magnitude import largest_between_rows
from adagrain.models.numerics.quantisation import scales_below
from adagrain.models.numerics.rounding import multiples_between_rows

from .features import FEATURE_SCALE
from .layers import LAYER_SCALE

__all__ = ["decide_tables", "numbers_of"]

_TOP = np.float32(LEVELS[Precision.INT8])
_BITS = LEVELS[Precision.INT8].bit_length()

#: What features and hidden numbers are multiples of.
_FIRST, _NEXT = np.float32(FEATURE_SCALE), np.float32(LAYER_SCALE)


@njit(cache=True, nogil=True)
def numbers_of(seen):  # pragma: no cover - compiled
    """Features, and behind them the number of the same scale that stands for 1."""
    numbers = np.full((seen.shape[0], seen.shape[1] + 1), np.float32(1) / _FIRST)
    for row in range(seen.shape[0]):
        for place in range(seen.shape[1]):
            numbers[row, place] = seen[row, place]
    return numbers


@njit(cache=True, nogil=True)
def decide_tables(weights, seen, tables):  # pragma: no cover - compiled
    """The keep-tables of some regions, bit for bit those of the golden network.

    Parameters
    ----------
    weights : tuple of ndarray of float32
        As :meth:`.layers.MaskLayers.of` takes them, hidden layers :func:`.layers.with_constant`.
    seen : ndarray of int8, (regions, 9)
        Their features.
    tables : ndarray of bool, (regions, 64)
        Filled.

    Returns
    -------
    bool
        False where a weight has no scale: it is not finite, or 2**60 and above.
    """
    numbers, given = numbers_of(seen), _FIRST
    for own in weights:
        rows, columns = own.shape
        largest = np.empty((1, columns), dtype=np.float32)
        scales = np.empty((1, columns), dtype=np.float32)
        largest_between_rows(own.reshape(1, rows, columns), largest)
        if not scales_below(largest[0], largest[0], scales[0], _BITS):
            return False
        whole = np.empty((1, rows, columns), dtype=np.float32)
        multiples_between_rows(own.reshape(1, rows, columns), scales, _TOP, False, False, whole)
        sums = np.empty((1, numbers.shape[0], columns), dtype=np.float32)
        product_in_order(numbers, whole[0], sums[0])
        found = np.empty_like(sums)
        multiples_between_rows(sums, _NEXT / (given * scales), _TOP, False, False, found)
        numbers, given = found[0], _NEXT
    for region in range(tables.shape[0]):
        for place in range(tables.shape[1]):
            tables[region, place] = numbers[region, place] > 0
    return True

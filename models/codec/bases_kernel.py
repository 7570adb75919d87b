"""Symbols counted from other bases, without another look at the elements; compiled."""

import numpy as np
from numba import njit

from adagrain.models.interface.codec import BINS, CLASSES, ESCAPE

__all__ = ["shift_counts", "shift_symbols"]


@njit(cache=True, nogil=True)
def shift_counts(counts, shifts):  # pragma: no cover - compiled
    """Counts of the symbols if each region's bins are so much further from its base.

    Parameters
    ----------
    counts : ndarray of int64, (regions, 417)
        How often it comes.
    shifts : ndarray of int64, (regions,)
        Not negative, in half binades. What leaves the bins takes an escape.
    """
    found = np.zeros_like(counts)
    for region in range(shifts.size):
        shift, escaped = min(shifts[region], BINS), counts[region, ESCAPE]
        for first in range(0, BINS * CLASSES, BINS):
            for own in range(BINS - shift):
                found[region, first + shift + own] = counts[region, first + own]
            for own in range(BINS - shift, BINS):
                escaped += counts[region, first + own]
        found[region, ESCAPE] = escaped
    return found


@njit(cache=True, nogil=True)
def shift_symbols(symbols, ends, first_blocks, shifts):  # pragma: no cover - compiled
    """Shift the symbols of all elements, as :func:`shift_counts` does their counts.

    Parameters
    ----------
    symbols : ndarray of uint16
        As :func:`.encoder_kernel.count_symbols` leaves them; changed.
    ends, first_blocks
        As those of :func:`.encoder_kernel.scan`.
    """
    k = 0
    for region in range(shifts.size):
        last = first_blocks[region + 1] - 1
        end = ends[last] if last >= 0 else 0
        shift = shifts[region]
        for i in range(k, end):
            symbol = np.int64(symbols[i])
            if symbol != ESCAPE:
                stays = symbol % BINS + shift < BINS
                symbols[i] = symbol + shift if stays else ESCAPE
        k = end

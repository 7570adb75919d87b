"""The sums of ``statistics`` over a block of quantised elements, compiled."""

import numpy as np
from numba import njit

__all__ = ["add_bins", "add_four_powers", "add_two_powers"]


@njit(cache=True, nogil=True)
def add_two_powers(q, sums):  # pragma: no cover - compiled
    s1 = np.int64(0)
    s2 = np.int64(0)
    for i in range(q.size):
        s1 += q[i]
        s2 += np.int64(q[i]) * np.int64(q[i])
    sums[0] += s1
    sums[1] += s2


@njit(cache=True, nogil=True)
def add_four_powers(q, sums):  # pragma: no cover - compiled
    """Factors are of 32 bits, whose products a vector register can take at once."""
    s1, s2, s3 = np.int64(0), np.int64(0), np.int64(0)
    low, high = np.int64(0), np.int64(0)
    for i in range(q.size):
        square = np.int32(q[i] * q[i])
        s1 += q[i]
        s2 += np.int64(square)
        s3 += np.int64(square) * np.int64(q[i])
        low += np.int64(square) * np.int64(np.int32(square & np.int32(0x7FFF)))
        high += np.int64(square) * np.int64(np.int32(square >> np.int32(15)))
    sums[0] += s1
    sums[1] += s2
    sums[2] += s3
    sums[3] += low
    sums[4] += high


@njit(cache=True, nogil=True)
def add_bins(words, bins):  # pragma: no cover - compiled
    """Count magnitudes by their upper 15 bits: exponent and truncated significand."""
    for i in range(words.size):
        bins[(words[i] >> 16) & 0x7FFF] += 1

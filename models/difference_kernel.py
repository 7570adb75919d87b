"""The sums of ``difference``, of all pairs in one compiled call; bit-identical to the reference.

Compiled code finds each pair by its addresses, so that Python does nothing for it but to write a
line of a table.
"""

import numpy as np
from numba import njit

from .numerics.addresses import floats_at, words_at
from .statistics.kernel import CLAMPED_MANTISSA, quantise

__all__ = ["FOUND", "compare"]

#: What is found of a pair, by position.
FOUND = (
    "non_finite", "saturated", "sum_squared", "sum_absolute", "energy", "sum_magnitude", "largest",
    "absmax", "bitwise_equal",
)  # fmt: skip

#: Elements that are quantised at a time: they are kept in the first-level cache.
_BLOCK = 2048

_FIELD = np.int32(0x7F800000)
_WORD = np.int32(0x7FFFFFFF)


@njit(cache=True, nogil=True)
def compare(pairs, scales, found):  # pragma: no cover - compiled
    """Fill in what is found of each pair.

    Parameters
    ----------
    pairs : ndarray of int64, (pairs, 7)
        Addresses of guess and truth as FP32, and as they are; elements of each, and words of 16
        bits; shared exponent, biased.
    scales : ndarray of float32, (255, 3)
        As :func:`adagrain.models.statistics.kernel.all_scales` has them.
    found : ndarray of int64, (pairs, 9)
        By position as in ``FOUND``; 0 at first.
    """
    qa = np.empty(_BLOCK, dtype=np.int32)  # rows of one array would keep to scalar registers
    qb = np.empty(_BLOCK, dtype=np.int32)
    for row in range(pairs.shape[0]):
        count, words, exponent = pairs[row, 4], pairs[row, 5], pairs[row, 6]
        limit = np.int32(exponent << 23 | CLAMPED_MANTISSA)
        a, b = floats_at(pairs[row, 0], count), floats_at(pairs[row, 1], count)
        for start in range(0, count, _BLOCK):
            of_a, of_b = a[start : start + _BLOCK], b[start : start + _BLOCK]
            quantise(of_a, exponent, scales[exponent], qa[: of_a.size])
            quantise(of_b, exponent, scales[exponent], qb[: of_b.size])
            _add(of_a.view(np.int32), of_b.view(np.int32), qa, qb, limit, found[row])
        found[row, 8] = _same(words_at(pairs[row, 2], words), words_at(pairs[row, 3], words))


@njit(cache=True, nogil=True)
def _add(a, b, qa, qb, limit, found):  # pragma: no cover - compiled
    """Add the pairs of a block, given as words and quantised."""
    non_finite, saturated = np.int32(0), np.int32(0)
    squared, absolute, energy, magnitude = np.int64(0), np.int64(0), np.int64(0), np.int64(0)
    largest, absmax = np.int32(0), np.int32(0)
    for i in range(a.size):
        of_a, of_b = a[i] & _WORD, b[i] & _WORD
        finite = np.int32((of_a < _FIELD) & (of_b < _FIELD))
        error, truth = abs(qa[i] - qb[i]) * finite, abs(qb[i]) * finite
        non_finite += np.int32(1) - finite
        saturated += finite * (np.int32(of_a >= limit) + np.int32(of_b >= limit))
        squared += np.int64(error) * np.int64(error)
        absolute += error
        energy += np.int64(truth) * np.int64(truth)
        magnitude += truth
        largest = max(largest, error)
        absmax = max(absmax, truth)
    found[0] += non_finite
    found[1] += saturated
    found[2] += squared
    found[3] += absolute
    found[4] += energy
    found[5] += magnitude
    found[6] = max(found[6], largest)
    found[7] = max(found[7], absmax)


@njit(cache=True, nogil=True)
def _same(a, b):  # pragma: no cover - compiled
    """1 if all words are equal."""
    differing = np.uint16(0)
    for i in range(a.size):
        differing |= a[i] ^ b[i]
    return np.int64(differing == 0)

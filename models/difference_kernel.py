"""The sums of ``difference`` in one compiled pass; bit-identical to the reference."""

import numpy as np
from numba import njit

from .statistics.kernel import CLAMPED_MANTISSA, quantise

__all__ = ["compare"]

#: Pairs whose quantised elements are kept in the first-level cache.
_BLOCK = 2048

_FIELD = np.int32(0x7F800000)
_WORD = np.int32(0x7FFFFFFF)


@njit(cache=True, nogil=True)
def compare(a, b, exponent, scales, found):  # pragma: no cover - compiled
    """Add the pairs of a pass to what was found.

    Parameters
    ----------
    a, b : ndarray of float32
        Guess and truth.
    exponent : int
        The shared one, biased.
    scales : ndarray of float32, (3,)
        As :func:`adagrain.models.statistics.kernel.all_scales` has them for it.
    found : ndarray of int64, (8,)
        Pairs that are not finite, clamped elements, the four sums, the two largest magnitudes.
    """
    qa, qb = np.empty((2, _BLOCK), dtype=np.int32)
    limit = np.int32(exponent << 23 | CLAMPED_MANTISSA)
    for start in range(0, a.size, _BLOCK):
        of_a, of_b = a[start : start + _BLOCK], b[start : start + _BLOCK]
        quantise(of_a, exponent, scales, qa[: of_a.size])
        quantise(of_b, exponent, scales, qb[: of_b.size])
        _add(of_a.view(np.int32), of_b.view(np.int32), qa, qb, limit, found)


@njit(cache=True, nogil=True)
def _add(a, b, qa, qb, limit, found):  # pragma: no cover - compiled
    """Add those of a block, given as words and quantised."""
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

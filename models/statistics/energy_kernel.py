"""Energies of parts of tensors, compiled: one pass over elements that are normal and not clamped.

The other blocks are looked at as ``statistics`` does. Results are those of its kernel, bit for bit.
"""

import numpy as np
from numba import njit

from adagrain.models.numerics.addresses import floats_at

from .kernel import (
    BLOCK,
    CLAMPED,
    CLAMPED_MANTISSA,
    FOUND,
    NAN,
    NEGATIVE,
    NO_SUBNORMALS,
    POSITIVE,
    quantise_special,
    scan_special,
)

__all__ = ["ENERGIES", "S2", "add_energy", "join_energies", "run_energies"]

#: What is found, by position, and how many these are. Of parts the third is the largest magnitude;
#: of tensors its exponent, and the last whether there is none.
S2, _NON_FINITE, _SATURATED, _LARGEST, _ZERO = range(5)
ENERGIES = 5

_WORD = np.int32(0x7FFFFFFF)


@njit(cache=True, nogil=True)
def _squares(words, values, scales):  # pragma: no cover - compiled
    """Largest magnitude; sum of the squares of quantised elements, if none is special."""
    first, second = scales[0], scales[1]
    largest, s2 = np.int32(0), np.int64(0)
    for i in range(words.size):
        largest = max(largest, np.int32(words[i] & _WORD))
        q = np.int64(np.int32(np.rint(values[i] * first * second)))
        s2 += q * q
    return largest, s2


@njit(cache=True, nogil=True)
def _add_special(words, values, exponent, scales, found):  # pragma: no cover - compiled
    """Add what a block of any elements has."""
    counts = np.zeros(FOUND, dtype=np.int64)
    q = np.empty(words.size, dtype=np.int32)
    low, high = scan_special(words, np.int32(exponent << 23 | CLAMPED_MANTISSA), counts)
    quantise_special(words, values, scales, q)
    found[_NON_FINITE] += counts[NAN] + counts[POSITIVE] + counts[NEGATIVE]
    found[_SATURATED] += counts[CLAMPED]
    found[_LARGEST] = max(found[_LARGEST], high, ~low)
    for i in range(q.size):
        found[S2] += np.int64(q[i]) * np.int64(q[i])


@njit(cache=True, nogil=True)
def add_energy(values, exponent, scales, found):  # pragma: no cover - compiled
    """Add what FP32 numbers have at a biased exponent, with the scales for it."""
    words = values.view(np.int32)
    limit = np.int32(exponent << 23 | CLAMPED_MANTISSA)
    for start in range(0, words.size, BLOCK):
        block = slice(start, min(start + BLOCK, words.size))
        largest, s2 = _squares(words[block], values[block], scales)
        if largest < limit and exponent >= NO_SUBNORMALS:
            found[_LARGEST] = max(found[_LARGEST], largest)
            found[S2] += s2
        else:
            _add_special(words[block], values[block], exponent, scales, found)


@njit(cache=True, nogil=True)
def run_energies(parts, exponents, scales, results):  # pragma: no cover - compiled
    """Fill a row of zeros for each part: number of the tensor, address, elements."""
    for i in range(parts.shape[0]):
        exponent = exponents[parts[i, 0]]
        values = floats_at(parts[i, 1], parts[i, 2])
        add_energy(values, exponent, scales[exponent], results[i])


@njit(cache=True, nogil=True)
def join_energies(parts, results, energies):  # pragma: no cover - compiled
    """Fill a row of zeros for each tensor, from those of its parts."""
    for i in range(parts.shape[0]):
        tensor = energies[parts[i, 0]]
        tensor[S2] += results[i, S2]
        tensor[_NON_FINITE] += results[i, _NON_FINITE]
        tensor[_SATURATED] += results[i, _SATURATED]
        tensor[_LARGEST] = max(tensor[_LARGEST], results[i, _LARGEST])
    for i in range(energies.shape[0]):
        energies[i, _ZERO] = energies[i, _LARGEST] == 0 and energies[i, _NON_FINITE] == 0
        energies[i, _LARGEST] >>= 23

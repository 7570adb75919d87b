"""Bytes as a stream of bits: the highest bit of each byte comes first."""

import numpy as np
from numba import njit

__all__ = ["as_words", "bits_at"]

_ONE, _BYTE = np.uint64(1), np.uint64(8)


@njit(cache=True, nogil=True)
def as_words(raw):  # pragma: no cover - compiled
    """Bytes, as words of 64 bits whose highest comes first, with two words of zeros behind them.

    Parameters
    ----------
    raw : ndarray of uint8
    """
    words = np.zeros(raw.size // 8 + 3, dtype=np.uint64)
    whole = raw.size // 8
    for word in range(whole):
        for i in range(8):
            words[word] = words[word] << _BYTE | np.uint64(raw[8 * word + i])
    for i in range(8 * whole, raw.size):
        words[whole] |= np.uint64(raw[i]) << np.uint64(56 - 8 * (i & 7))
    return words


@njit(cache=True, nogil=True, inline="always")
def bits_at(words, at):  # pragma: no cover - compiled
    """The 64 bits that begin at bit ``at``, which is not behind the bytes' end."""
    word, shift = at >> 6, np.uint64(at & 63)
    return words[word] << shift | (words[word + 1] >> _ONE) >> (np.uint64(63) - shift)

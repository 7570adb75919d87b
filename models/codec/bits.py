"""Bytes as a stream of bits: the highest bit of each byte comes first."""

import numpy as np
from numba import njit

__all__ = ["as_words", "bits_at"]

_ONE = np.uint64(1)


def as_words(raw: np.ndarray) -> np.ndarray:
    """Bytes, as words of 64 bits whose highest comes first, with two words of zeros behind them.

    Parameters
    ----------
    raw : ndarray of uint8
    """
    words = np.zeros(len(raw) // 8 + 3, dtype=np.uint64)
    words.view(np.uint8)[: len(raw)] = raw
    return words.byteswap(inplace=True)


@njit(cache=True, nogil=True, inline="always")
def bits_at(words, at):  # pragma: no cover - compiled
    """The 64 bits that begin at bit ``at``, which is not behind the bytes' end."""
    word, shift = at >> 6, np.uint64(at & 63)
    return words[word] << shift | (words[word + 1] >> _ONE) >> (np.uint64(63) - shift)

"""FP32 to BF16, perhaps with fewer mantissa bits, and what follows from it; compiled, in a pass."""

import numpy as np
from numba import njit

from .options import MANTISSA_BITS

__all__ = [
    "INFINITE",
    "add_words",
    "average_words",
    "largest_magnitude",
    "least_special",
    "left_of",
    "round_kept",
    "round_sums",
    "round_words",
    "same_words",
]

#: The magnitude of infinities, as a word; those of NaNs are larger.
INFINITE = 0x7F800000

#: Elements that stay in the first-level cache from one pass to the next.
_BLOCK = 4096

_MAGNITUDE, _SIGN = np.int32(0x7FFFFFFF), np.int32(-0x8000)
_SHIFT, _LAST, _BELOW_HALF = np.int32(16), np.int32(1), np.int32(0x7FFF)

#: As a word, BF16's magnitude of infinities.
_INFINITE = INFINITE >> 16


def least_special(drop: int) -> int:
    """A magnitude, as a word, below which a number stays finite when it is rounded.

    Parameters
    ----------
    drop : int
        Mantissa bits of BF16 that are not kept.
    """
    return (_INFINITE - ((1 << drop) >> 1) << 16) - 0x8000


@njit(cache=True, nogil=True)
def round_words(words, drop, found):  # pragma: no cover - compiled
    """Round to the nearest, ties to even, zeros without a sign; the largest magnitude, as a word.

    What is not below :func:`least_special` is not rounded as it must be.

    Parameters
    ----------
    words : ndarray of int32
        FP32.
    drop : int
        Mantissa bits of BF16 that are not kept: these are rounded to fewer then.
    found : ndarray of int16
        Filled with BF16.
    """
    largest = np.int32(0)
    for start in range(0, words.size, _BLOCK):
        own = found[start : start + _BLOCK]
        largest = max(largest, _round_block(words[start : start + _BLOCK], own))
        if drop:
            _drop_bits(own, drop)
    return largest


@njit(cache=True, nogil=True)
def _round_block(words, found):  # pragma: no cover - compiled
    largest = np.int32(0)
    for i in range(words.size):
        magnitude = np.int32(words[i] & _MAGNITUDE)
        largest = max(largest, magnitude)
        carry = np.int32(_BELOW_HALF + np.int32(np.int32(magnitude >> _SHIFT) & _LAST))
        upper = np.int32(np.int32(magnitude + carry) >> _SHIFT)
        sign = np.int32(np.int32(words[i] >> _SHIFT) & _SIGN)
        found[i] = np.int16(upper | (sign if upper else np.int32(0)))
    return largest


@njit(cache=True, nogil=True)
def _drop_bits(found, drop):  # pragma: no cover - compiled
    """Round BF16 to fewer mantissa bits, as ``with_mantissa_bits`` does; zeros without a sign."""
    below_half, kept = np.int32((1 << drop - 1) - 1), np.int32(-1 << drop)
    alone, place = drop == MANTISSA_BITS, np.int32(drop)
    for i in range(found.size):
        magnitude = np.int32(found[i]) & np.int32(0x7FFF)
        # the last bit that is kept is the hidden one where there is no other
        hidden = np.int32(magnitude > np.int32(0x7F))
        odd = hidden if alone else np.int32(magnitude >> place) & _LAST
        upper = np.int32(magnitude + below_half + odd) & kept
        sign = np.int32(found[i]) & _SIGN
        found[i] = np.int16(upper | (sign if upper else np.int32(0)))


@njit(cache=True, nogil=True)
def round_sums(one, other, total, found):  # pragma: no cover - compiled
    """Sums of FP32 numbers, and those rounded as :func:`round_words` does; the same magnitude."""
    largest = np.int32(0)
    for start in range(0, one.size, _BLOCK):
        own = total[start : start + _BLOCK]
        first, second = one[start : start + _BLOCK], other[start : start + _BLOCK]
        for i in range(own.size):
            own[i] = first[i] + second[i]
        rounded = _round_block(own.view(np.int32), found[start : start + _BLOCK])
        largest = max(largest, rounded)
    return largest


@njit(cache=True, nogil=True)
def round_kept(words, keep, drop, found):  # pragma: no cover - compiled
    """As :func:`round_words`, with 0 where ``keep`` is false; the largest magnitude is of all."""
    largest = round_words(words, drop, found)
    for i in range(found.size):
        found[i] = found[i] if keep[i] else np.int16(0)
    return largest


@njit(cache=True, nogil=True)
def same_words(one, other):  # pragma: no cover - compiled
    """True if all words, int16, are the same."""
    differing = np.int16(0)
    for i in range(one.size):
        differing |= one[i] ^ other[i]
    return differing == 0


@njit(cache=True, nogil=True)
def largest_magnitude(words):  # pragma: no cover - compiled
    """The largest magnitude, as a word, of FP32 words, int32."""
    largest = np.int32(0)
    for i in range(words.size):
        largest = max(largest, np.int32(words[i] & _MAGNITUDE))
    return largest


@njit(cache=True, nogil=True)
def left_of(values, sent, left):  # pragma: no cover - compiled
    """Fill ``left`` with values less what is sent of them, BF16 as int16; both others FP32."""
    words = np.empty(_BLOCK, dtype=np.int32)
    for start in range(0, values.size, _BLOCK):
        block, own = values[start : start + _BLOCK], left[start : start + _BLOCK]
        taken = _widened(sent[start : start + _BLOCK], words)
        for i in range(block.size):
            own[i] = block[i] - taken[i]


@njit(cache=True, nogil=True)
def average_words(summed, part, averages):  # pragma: no cover - compiled
    """Fill ``averages``, FP32, with a part of sums, BF16 as int16."""
    words = np.empty(_BLOCK, dtype=np.int32)
    for start in range(0, summed.size, _BLOCK):
        own = averages[start : start + _BLOCK]
        sums = _widened(summed[start : start + _BLOCK], words)
        for i in range(own.size):
            own[i] = sums[i] * part


@njit(cache=True, nogil=True)
def add_words(sent, part, sums):  # pragma: no cover - compiled
    """Add BF16, as int16, to ``sums``, FP32, and leave a part of these."""
    words = np.empty(_BLOCK, dtype=np.int32)
    for start in range(0, sent.size, _BLOCK):
        own = sums[start : start + _BLOCK]
        added = _widened(sent[start : start + _BLOCK], words)
        for i in range(own.size):
            own[i] = (own[i] + added[i]) * part


@njit(cache=True, nogil=True)
def _widened(block, words):  # pragma: no cover - compiled
    """BF16 as int16, in FP32; in the memory of words."""
    for i in range(block.size):
        words[i] = np.int32(np.int32(block[i]) << _SHIFT)
    return words.view(np.float32)

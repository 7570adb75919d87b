"""Canonical codes of code lengths, compiled: frames may carry tables, so this is done for each."""

import numpy as np
from numba import njit

from adagrain.models.interface.codec import BINS, ELEMENT_BITS, ESCAPE, GAP_BITS, LONGEST_CODE

__all__ = [
    "BIN",
    "CODE",
    "ELEMENT_LENGTH",
    "IS_ESCAPE",
    "LEAST_GAP",
    "LOW_BITS",
    "canonical_codes",
    "encoding",
    "lookup",
    "measures",
]

#: Fields of an entry of :func:`lookup`, by their first bit.
ELEMENT_LENGTH, CODE, LOW_BITS, BIN, LEAST_GAP = 0, 6, 10, 14, 20

#: The bit of an entry that tells an escape.
IS_ESCAPE = 1 << 19


@njit(cache=True, nogil=True)
def canonical_codes(lengths):  # pragma: no cover - compiled
    """Codes by length and then by symbol, each the one before it plus 1; 0 where there is none.

    Parameters
    ----------
    lengths : ndarray of uint8, (417,)
        They fill the code space.
    """
    following = np.zeros(LONGEST_CODE + 1, dtype=np.uint16)
    for symbol in range(lengths.size):
        following[lengths[symbol]] += 1
    code = 0
    for length in range(1, LONGEST_CODE + 1):
        following[length], code = code, code + following[length] << 1
    codes = np.zeros(lengths.size, dtype=np.uint16)
    for symbol in range(lengths.size):
        length = lengths[symbol]
        if length:
            codes[symbol] = following[length]
            following[length] += 1
    return codes


@njit(cache=True, nogil=True)
def encoding(lengths):  # pragma: no cover - compiled
    """By symbol, uint16: its code as of :func:`canonical_codes`, its length in the lower 4 bits."""
    codes = canonical_codes(lengths)
    for symbol in range(lengths.size):
        codes[symbol] = codes[symbol] << np.uint16(4) | np.uint16(lengths[symbol])
    return codes


@njit(cache=True, nogil=True)
def lookup(lengths, kept):  # pragma: no cover - compiled
    """Element that begins with the next 12 bits, uint32, (4096,): see the fields above.

    Bits of the whole element and of its code; low bits of its gap; bin of the magnitude; 1 where it
    is an escape; the least gap of its class.

    Parameters
    ----------
    lengths : ndarray of uint8, (417,)
        They fill the code space.
    kept : int
        Mantissa bits of an element that is no escape.
    """
    table = np.empty(1 << LONGEST_CODE, dtype=np.uint32)
    codes = canonical_codes(lengths)
    for symbol in range(lengths.size):
        length = np.int64(lengths[symbol])
        if length == 0:
            continue
        if symbol == ESCAPE:
            entry = length + GAP_BITS + ELEMENT_BITS << ELEMENT_LENGTH | IS_ESCAPE
        else:
            kind = symbol // BINS
            low = max(kind - 1, 0)
            entry = length + low + 1 + max(kept - 1, 0) << ELEMENT_LENGTH | low << LOW_BITS
            entry |= symbol % BINS << BIN | (1 << kind >> 1) << LEAST_GAP
        free = LONGEST_CODE - length
        first = np.int64(codes[symbol]) << free
        table[first : first + (1 << free)] = entry | length << CODE
    return table


@njit(cache=True, nogil=True)
def measures(lengths):  # pragma: no cover - compiled
    """The longest of any code lengths, and how many codes of 12 bits begin with one of these."""
    longest, filled = np.int64(0), np.int64(0)
    for i in range(lengths.size):
        length = np.int64(lengths[i])
        longest = max(longest, length)
        if 0 < length <= LONGEST_CODE:
            filled += np.int64(1) << (LONGEST_CODE - length)
    return longest, filled

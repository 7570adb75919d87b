"""Compiled passes over a frame's region headers, tables and block lengths. They trust no byte."""

import numpy as np
from numba import njit

from adagrain.models.interface.codec import BINS, BLOCK, CLASSES, ESCAPE

from .bits import bits_at

__all__ = [
    "EXPONENT",
    "FINE",
    "LENGTH",
    "NO_TABLE",
    "RESERVED",
    "WIDEST",
    "WIDTH",
    "read_lengths",
    "read_regions",
    "read_sizes",
]

#: Bits of the longest block length, that of a whole stored block.
WIDEST = (2 * BLOCK).bit_length()

#: What is wrong with a region header, or with a block's length.
FINE, EXPONENT, WIDTH, RESERVED, LENGTH, NO_TABLE = range(6)


@njit(cache=True, nogil=True)
def read_regions(raw, largest, counts, bases, widths, slots):  # pragma: no cover - compiled
    """Take region headers apart.

    Parameters
    ----------
    raw : ndarray of uint8, (6 * regions,)
    largest : int
        The largest base exponent of the format.
    counts, bases : ndarray of int64
    widths, slots : ndarray of uint8
        Filled.

    Returns
    -------
    found, region, value : int
        ``FINE``, or what is wrong, where, and the value that is.
    """
    for region in range(counts.size):
        at = 6 * region
        count = np.int64(raw[at]) | np.int64(raw[at + 1]) << 8
        count |= np.int64(raw[at + 2]) << 16 | np.int64(raw[at + 3]) << 24
        exponent, rest = np.int64(raw[at + 4]), np.int64(raw[at + 5])
        width = rest & 15
        if exponent > largest:
            return EXPONENT, region, exponent
        if width > WIDEST:
            return WIDTH, region, width
        if rest >> 5:
            return RESERVED, region, rest >> 5
        counts[region], bases[region] = count, exponent
        widths[region], slots[region] = width, rest >> 4
    return FINE, 0, np.int64(0)


@njit(cache=True, nogil=True)
def read_lengths(raw, classes, bins, lengths):  # pragma: no cover - compiled
    """A carried table's code lengths, two to a byte, and that of the escape: the largest.

    Parameters
    ----------
    raw : ndarray of uint8, (classes * bins + 1) // 2 or more
    classes, bins : int
        At most 13 and 32.
    lengths : ndarray of uint8, (417,)
        Zeros, filled.

    Returns
    -------
    behind : int
        The half byte that is left over, or 0.
    """
    at = 0
    largest = np.uint8(0)
    for kind in range(min(classes, CLASSES)):
        for own in range(min(bins, BINS)):
            length = raw[at >> 1] >> np.uint8(4 - 4 * (at & 1)) & np.uint8(15)
            lengths[kind * BINS + own] = length
            largest = max(largest, length)
            at += 1
    lengths[ESCAPE] = largest
    return raw[at >> 1] & np.uint8(15) if at & 1 else np.uint8(0)


@njit(cache=True, nogil=True)
def read_sizes(bits, counts, widths, slots, first_blocks, tables, sizes):  # pragma: no cover
    """Block lengths of all regions, and how many bytes they are in all.

    Parameters
    ----------
    bits : ndarray of uint64
        The lengths, as :func:`adagrain.models.codec.bits.as_words` gives them.
    tables : ndarray of bool, (2,)
        Slots that have a table.
    sizes : ndarray of int32, (blocks,)
        Filled.

    Returns
    -------
    found, region, block, value, most : int
        ``FINE``, or what is wrong, where, the value that is, and the most that it may be. If all
        is fine, the value is the sum of all lengths.
    """
    at, total = np.int64(0), np.int64(0)
    for region in range(counts.size):
        width, left = np.int64(widths[region]), counts[region]
        for b in range(first_blocks[region], first_blocks[region + 1]):
            most = 2 * min(left, BLOCK)
            left -= BLOCK
            size = np.int64(0)
            if width:
                size = np.int64(bits_at(bits, at) >> np.uint64(64 - width))
            at += width
            sizes[b] = size
            total += size
            block = b - first_blocks[region]
            if size > most:
                return LENGTH, region, block, size, most
            if 0 < size < most and not tables[slots[region]]:
                return NO_TABLE, region, block, np.int64(slots[region]), most
    return FINE, 0, np.int64(0), total, np.int64(0)

"""The compiled pass over a frame's region headers, carried tables and block lengths.

It trusts no byte. What it finds wrong is an :class:`Outcome`, with where it is, the value, and the
limit that this is beyond: a tuple of five integers.
"""

import enum

import numpy as np
from numba import njit

from adagrain.models.interface.codec import (
    BINS,
    BLOCK,
    CLASSES,
    ESCAPE,
    LONGEST_CODE,
    SLOTS,
    TableNumber,
)

from .block_numbers import bits_of_sizes, first_blocks_of
from .canonical import measures
from .parts import REGION_SIZE

__all__ = ["WIDEST", "Outcome", "read_body", "read_table"]

#: Bits of the longest block length, that of a whole stored block.
WIDEST = (2 * BLOCK).bit_length()


class Outcome(enum.IntEnum):
    """Outcome of taking a frame apart: fine, or what is wrong first."""

    FINE = 0
    HEADERS = enum.auto()  #: too few bytes for the region headers
    EXPONENT = enum.auto()
    WIDTH = enum.auto()
    RESERVED = enum.auto()
    ELEMENTS = enum.auto()  #: too many in all
    COUNT = enum.auto()  #: others than the receiver wants
    TABLE = enum.auto()  #: too few bytes for a carried table
    CLASSES = enum.auto()
    BINS = enum.auto()
    HALF_BYTE = enum.auto()  #: something behind a table's last length
    CODE_LENGTH = enum.auto()
    CODE_SPACE = enum.auto()  #: code lengths do not fill it
    SIZES = enum.auto()  #: too few bytes for the block lengths
    SPARE_BITS = enum.auto()  #: something behind the last block length
    SIZE = enum.auto()
    NO_TABLE = enum.auto()  #: a coded block in a slot without one


_FINE = 0, 0, 0, 0, 0
_CARRIED = int(TableNumber.CARRIED)


@njit(cache=True, nogil=True)
def read_body(raw, regions, largest, most, wanted, numbers, lengths):  # pragma: no cover
    """Take apart what stands between a frame's header and its blocks.

    Parameters
    ----------
    raw : ndarray of uint8
        What stands behind the header.
    regions : int
    largest : int
        The largest base exponent of the format.
    most : int
        Elements that the regions may have in all.
    wanted : ndarray of int64, (regions,) or (0,)
        Elements that each must have; none: any.
    numbers : tuple of int
        By slot, those of its table.
    lengths : ndarray of uint8, (2, 417)
        Code lengths by slot, zeros where the table is carried or none; filled.

    Returns
    -------
    wrong : tuple of int
        Outcome, region, block, value, limit.
    used : int
        Bytes that were taken; what follows are the blocks.
    counts, bases : ndarray of int64, (regions,)
    slots : ndarray of uint8, (regions,)
    first_blocks : ndarray of int64, (regions + 1,)
        The number of each region's first block, and that of all blocks.
    sizes : ndarray of int32, (blocks,)
        Bytes of each block.
    elements, total : int
        Elements of all regions, bytes of all blocks.
    """
    counts, bases = np.zeros(regions, dtype=np.int64), np.zeros(regions, dtype=np.int64)
    widths, slots = np.zeros(regions, dtype=np.uint8), np.zeros(regions, dtype=np.uint8)
    wrong, at = _read_regions(raw, largest, most, wanted, counts, bases, widths, slots)
    for slot in range(SLOTS):
        if wrong[0] == Outcome.FINE.value and numbers[slot] == _CARRIED:
            wrong, used = read_table(raw[at:], lengths[slot])
            at += used
    first_blocks, sizes, total = np.zeros(1, dtype=np.int64), np.zeros(0, dtype=np.int32), 0
    if wrong[0] == Outcome.FINE.value:
        first_blocks = first_blocks_of(counts)
        sizes = np.empty(first_blocks[-1], dtype=np.int32)
        wrong, used, total = _read_sizes(
            raw[at:], counts, widths, slots, first_blocks, numbers, sizes
        )
        at += used
    return wrong, at, counts, bases, slots, first_blocks, sizes, counts.sum(), total


@njit(cache=True, nogil=True)
def _read_regions(
    raw, largest, most, wanted, counts, bases, widths, slots
):  # pragma: no cover - compiled
    """Fill in what the region headers say; what is wrong, and the bytes that they take."""
    size = REGION_SIZE * counts.size
    if raw.size < size:
        return (Outcome.HEADERS.value, 0, 0, raw.size, size), 0
    total = np.int64(0)
    for region in range(counts.size):
        at = REGION_SIZE * region
        count = np.int64(raw[at]) | np.int64(raw[at + 1]) << 8
        count |= np.int64(raw[at + 2]) << 16 | np.int64(raw[at + 3]) << 24
        exponent, rest = np.int64(raw[at + 4]), np.int64(raw[at + 5])
        width = rest & 15
        if exponent > largest:
            return (Outcome.EXPONENT.value, region, 0, exponent, largest), 0
        if width > WIDEST:
            return (Outcome.WIDTH.value, region, 0, width, WIDEST), 0
        if rest >> 5:
            return (Outcome.RESERVED.value, region, 0, rest >> 5, 0), 0
        counts[region], bases[region] = count, exponent
        widths[region], slots[region] = width, rest >> 4
        total += count
    if total > most:
        return (Outcome.ELEMENTS.value, 0, 0, total, most), 0
    for region in range(wanted.size):
        if counts[region] != wanted[region]:
            return (Outcome.COUNT.value, region, 0, counts[region], wanted[region]), 0
    return _FINE, size


@njit(cache=True, nogil=True)
def read_table(raw, lengths):  # pragma: no cover - compiled
    """Fill in a carried table's code lengths, and that of the escape: the largest.

    Parameters
    ----------
    raw : ndarray of uint8
        The table, and anything behind it.
    lengths : ndarray of uint8, (417,)
        Zeros, filled.

    Returns
    -------
    wrong : tuple of int
        As :func:`read_body` gives it.
    used : int
        Bytes that the table takes.
    """
    if raw.size < 2:
        return (Outcome.TABLE.value, 0, 0, raw.size, 2), 0
    classes, bins = np.int64(raw[0]), np.int64(raw[1])
    if not 1 <= classes <= CLASSES:
        return (Outcome.CLASSES.value, 0, 0, classes, CLASSES), 0
    if not 1 <= bins <= BINS:
        return (Outcome.BINS.value, 0, 0, bins, BINS), 0
    size = 2 + (classes * bins + 1) // 2
    if raw.size < size:
        return (Outcome.TABLE.value, 0, 0, raw.size, size), 0
    at = 4
    for kind in range(classes):
        for own in range(bins):
            length = raw[at >> 1] >> np.uint8(4 - 4 * (at & 1)) & np.uint8(15)
            lengths[kind * BINS + own] = length
            at += 1
    if at & 1 and raw[at >> 1] & 15:
        return (Outcome.HALF_BYTE.value, 0, 0, np.int64(raw[at >> 1] & 15), 0), 0
    lengths[ESCAPE] = lengths.max()
    longest, filled = measures(lengths)
    if longest > LONGEST_CODE:
        return (Outcome.CODE_LENGTH.value, 0, 0, longest, LONGEST_CODE), 0
    if filled != 1 << LONGEST_CODE:
        return (Outcome.CODE_SPACE.value, 0, 0, filled, 1 << LONGEST_CODE), 0
    return _FINE, size


@njit(cache=True, nogil=True)
def _read_sizes(raw, counts, widths, slots, first_blocks, numbers, sizes):  # pragma: no cover
    """Fill in all block lengths; what is wrong, the bytes that they take, and those of blocks."""
    bits = bits_of_sizes(widths, first_blocks)
    size = (bits + 7) // 8
    if raw.size < size:
        return (Outcome.SIZES.value, 0, 0, raw.size, size), 0, 0
    if bits % 8 and raw[size - 1] & 0xFF >> bits % 8:
        return (Outcome.SPARE_BITS.value, 0, 0, raw[size - 1] & 0xFF >> bits % 8, 0), 0, 0
    at, total = np.int64(0), np.int64(0)
    for region in range(counts.size):
        width, left = np.int64(widths[region]), counts[region]
        for b in range(first_blocks[region], first_blocks[region + 1]):
            most, block = 2 * min(left, BLOCK), b - first_blocks[region]
            own = _bits_of(raw, at, width)
            left, at = left - BLOCK, at + width
            sizes[b], total = own, total + own
            if own > most:
                return (Outcome.SIZE.value, region, block, own, most), 0, 0
            if 0 < own < most and numbers[slots[region]] == 0:
                return (Outcome.NO_TABLE.value, region, block, np.int64(slots[region]), 0), 0, 0
    return _FINE, size, total


@njit(cache=True, nogil=True, inline="always")
def _bits_of(raw, at, width):  # pragma: no cover - compiled
    """So many bits from bit ``at`` on, at most 14: they are in three bytes at most."""
    first, last = at >> 3, at + width - 1 >> 3
    found = np.int64(0)
    for i in range(first, last + 1):
        found = found << 8 | np.int64(raw[i])
    return found >> (8 * (last + 1) - at - width) & (1 << width) - 1

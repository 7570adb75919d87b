"""The compiled pass that writes region headers, carried tables and block lengths."""

import numpy as np
from numba import njit

from adagrain.models.interface.codec import SLOTS, TableNumber

from .block_numbers import bits_of_sizes
from .choice_kernel import carried, carried_bytes
from .parts import REGION_SIZE

__all__ = ["write_body"]

_CARRIED = int(TableNumber.CARRIED)

_BYTE, _LOW = np.uint64(8), np.uint64(0xFF)


@njit(cache=True, nogil=True)
def write_body(
    counts, bases, slots, first_blocks, sizes, numbers, lengths
):  # pragma: no cover - compiled
    """Region headers, carried tables and block lengths, as bytes behind each other, uint8.

    Parameters
    ----------
    counts, bases : ndarray of int64, (regions,)
    slots : ndarray of uint8, (regions,)
    first_blocks : ndarray of int64, (regions + 1,)
    sizes : ndarray of int32, (blocks,)
        Bytes of each block.
    numbers : tuple of int
        By slot, those of its table.
    lengths : ndarray of uint8, (2, 417)
        Code lengths by slot.
    """
    widths = _widths_of(sizes, first_blocks)
    size = REGION_SIZE * counts.size + (bits_of_sizes(widths, first_blocks) + 7) // 8
    for slot in range(SLOTS):
        if numbers[slot] == _CARRIED:
            size += carried_bytes(lengths[slot])
    out = np.zeros(size, dtype=np.uint8)
    _write_regions(counts, bases, widths, slots, out)
    at = REGION_SIZE * counts.size
    for slot in range(SLOTS):
        if numbers[slot] == _CARRIED:
            table = carried(lengths[slot])
            out[at : at + table.size] = table
            at += table.size
    _write_sizes(sizes, widths, first_blocks, out[at:])
    return out


@njit(cache=True, nogil=True)
def _widths_of(sizes, first_blocks):  # pragma: no cover - compiled
    """Bits that each region's longest block length takes."""
    widths = np.zeros(first_blocks.size - 1, dtype=np.uint8)
    for region in range(widths.size):
        any_bits = np.int32(0)
        for b in range(first_blocks[region], first_blocks[region + 1]):
            any_bits |= sizes[b]
        while any_bits >> widths[region]:
            widths[region] += 1
    return widths


@njit(cache=True, nogil=True)
def _write_regions(counts, bases, widths, slots, out):  # pragma: no cover - compiled
    for region in range(counts.size):
        at = REGION_SIZE * region
        for byte in range(4):
            out[at + byte] = counts[region] >> 8 * byte & 0xFF
        out[at + 4] = bases[region]
        out[at + 5] = widths[region] | slots[region] << 4


@njit(cache=True, nogil=True)
def _write_sizes(sizes, widths, first_blocks, out):  # pragma: no cover - compiled
    """Block lengths behind each other, the highest bit first; what is left of a byte stays 0."""
    waiting, valid, at = np.uint64(0), np.uint64(0), 0
    for region in range(widths.size):
        width = np.uint64(widths[region])
        for b in range(first_blocks[region], first_blocks[region + 1]):
            waiting, valid = waiting << width | np.uint64(sizes[b]), valid + width
            while valid >= _BYTE:
                valid -= _BYTE
                out[at] = waiting >> valid & _LOW
                at += 1
    if valid:
        out[at] = waiting << _BYTE - valid & _LOW

"""Block lengths, in as many bits each as the longest of its region takes; compiled."""

import numpy as np
from numba import njit

__all__ = ["bits_of_sizes", "pack_sizes", "widths_of"]


@njit(cache=True, nogil=True)
def widths_of(sizes, first_blocks):  # pragma: no cover - compiled
    """Bits that each region's longest block length takes, uint8, (regions,).

    Parameters
    ----------
    sizes : ndarray of int32, (blocks,)
        Bytes of each block.
    first_blocks : ndarray of int64, (regions + 1,)
        The number of each region's first block, and that of all blocks.
    """
    widths = np.zeros(first_blocks.size - 1, dtype=np.uint8)
    for region in range(widths.size):
        any_bits = np.int32(0)
        for b in range(first_blocks[region], first_blocks[region + 1]):
            any_bits |= sizes[b]
        while any_bits >> widths[region]:
            widths[region] += 1
    return widths


@njit(cache=True, nogil=True)
def bits_of_sizes(widths, first_blocks):  # pragma: no cover - compiled
    """Bits that all lengths take.

    Parameters
    ----------
    widths : ndarray of uint8, (regions,)
        As :func:`widths_of` gives them.
    first_blocks
        As that of :func:`widths_of`.
    """
    bits = np.int64(0)
    for region in range(widths.size):
        bits += widths[region] * (first_blocks[region + 1] - first_blocks[region])
    return bits


@njit(cache=True, nogil=True)
def pack_sizes(sizes, widths, first_blocks):  # pragma: no cover - compiled
    """All lengths, the highest bit of each first; uint8, zeros behind the last.

    Parameters
    ----------
    sizes, widths, first_blocks
        As those of :func:`widths_of` and :func:`bits_of_sizes`.
    """
    packed = np.zeros((bits_of_sizes(widths, first_blocks) + 7) // 8, dtype=np.uint8)
    at = np.int64(0)
    for region in range(widths.size):
        for b in range(first_blocks[region], first_blocks[region + 1]):
            for place in range(np.int64(widths[region]) - 1, -1, -1):
                packed[at >> 3] |= np.uint8(sizes[b] >> place & 1) << np.uint8(7 - (at & 7))
                at += 1
    return packed

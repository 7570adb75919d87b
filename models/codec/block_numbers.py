"""Numbers of blocks, which follow each other through all regions of a frame; compiled."""

import numpy as np
from numba import njit

from adagrain.models.interface.codec import BLOCK

__all__ = ["bits_of_sizes", "first_blocks_of"]


@njit(cache=True, nogil=True)
def first_blocks_of(counts):  # pragma: no cover - compiled
    """The number of each region's first block, and that of all blocks, int64.

    Parameters
    ----------
    counts : ndarray of int64, (regions,)
        Elements of each region.
    """
    numbers = np.empty(counts.size + 1, dtype=np.int64)
    numbers[0] = 0
    for region in range(counts.size):
        numbers[region + 1] = numbers[region] + (counts[region] + BLOCK - 1) // BLOCK
    return numbers


@njit(cache=True, nogil=True)
def bits_of_sizes(widths, first_blocks):  # pragma: no cover - compiled
    """Bits that the lengths of all blocks take.

    Parameters
    ----------
    widths : ndarray of uint8, (regions,)
        Of each block length of a region.
    first_blocks : ndarray of int64, (regions + 1,)
        As :func:`first_blocks_of` gives them.
    """
    bits = np.int64(0)
    for region in range(widths.size):
        bits += widths[region] * (first_blocks[region + 1] - first_blocks[region])
    return bits

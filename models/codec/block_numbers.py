"""Numbers of blocks: they follow each other through all regions of a frame; compiled."""

import numpy as np
from numba import njit

from adagrain.models.interface.codec import BLOCK

__all__ = ["first_blocks_of"]


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

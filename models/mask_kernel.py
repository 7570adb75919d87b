"""The choice of :func:`adagrain.models.mask.masked` for many regions of FP32 at once, compiled."""

from collections.abc import Sequence

import numpy as np
import torch
from numba import njit

from .interface.units.statistics import BINS

__all__ = ["chosen"]

#: Bits of a word below those that tell its half binade, and below those that BF16 keeps.
_LOW_BITS, _CUT = np.uint32(22), np.uint32(16)


def chosen(
    x: torch.Tensor, sizes: Sequence[int], exponents: np.ndarray, tables: np.ndarray
) -> torch.Tensor:
    """Which elements are kept, once they are rounded to BF16, to nearest even.

    Parameters
    ----------
    x : Tensor
        FP32, of one dimension: the regions, one after the other.
    sizes : sequence of int
        Elements of each.
    exponents : ndarray of int, (regions,)
        Exponent field of each base, 0 to 254.
    tables : ndarray of bool, (regions, 64)
        The bins that are kept.

    Returns
    -------
    Tensor of bool, as ``x``
        Also of elements that are 0: those of a last bin that is kept.
    """
    words = x.detach().cpu().contiguous().view(torch.int32).numpy().view(np.uint32)
    kept = np.empty(len(words), dtype=np.bool_)
    ends = np.cumsum(np.array(sizes, dtype=np.int64))
    _choose(words, ends, np.asarray(exponents, dtype=np.int32), tables, kept)
    return torch.from_numpy(kept).to(x.device)


@njit(cache=True, nogil=True)
def _choose(words, ends, exponents, tables, kept):  # pragma: no cover - compiled
    start, last = 0, np.int32(BINS - 1)
    for region in range(ends.size):
        top, table = np.int32(2 * exponents[region] + 1), tables[region]
        for i in range(start, ends[region]):
            magnitude = words[i] & np.uint32(0x7FFFFFFF)
            odd = magnitude >> _CUT & np.uint32(1)
            found = top - np.int32((magnitude + np.uint32(0x7FFF) + odd) >> _LOW_BITS)
            kept[i] = found < 0 or table[min(found, last)]
        start = ends[region]

"""Magnitudes counted by half binades, over the whole range of FP32."""

from collections.abc import Sequence

import numpy as np
import torch
from numba import njit

__all__ = ["HALF_BINADES", "LOW_BITS", "half_binade_sums", "half_binades"]

#: Bits of a magnitude below those that tell its half binade.
LOW_BITS = 22

#: Half binades that FP32 has, zeros and subnormal numbers in the first, what is not finite in
#: the last two.
HALF_BINADES = 1 << 31 - LOW_BITS


def half_binades(x: torch.Tensor, sizes: Sequence[int]) -> np.ndarray:
    """How many magnitudes of each part are in each half binade, int64, (parts, 512).

    Half binade h has the magnitudes whose upper 9 bits below the sign are h: the exponent field
    and the top bit of the mantissa, as the bins of ``statistics`` and ``codec`` do.

    Parameters
    ----------
    x : Tensor
        FP32, of one dimension.
    sizes : sequence of int
        Elements of each part.
    """
    counts = np.zeros((len(sizes), HALF_BINADES), dtype=np.int64)
    _count(_words(x), np.cumsum(np.array(sizes, dtype=np.int64)), counts)
    return counts


def half_binade_sums(x: torch.Tensor, sizes: Sequence[int]) -> np.ndarray:
    """Counts and energies of each part's half binades, int64, (parts, 512, 2).

    They are what ``statistics`` has before its bins are read out: zeros and what is not finite do
    not count, and energies are sums of squares of significands of 8 bits, the hidden one among
    them.

    Parameters
    ----------
    x : Tensor
        FP32, of one dimension.
    sizes : sequence of int
        Elements of each part.
    """
    sums = np.zeros((len(sizes), HALF_BINADES, 2), dtype=np.int64)
    _add(_words(x), np.cumsum(np.array(sizes, dtype=np.int64)), sums)
    return sums


def _words(x: torch.Tensor) -> np.ndarray:
    return x.detach().cpu().contiguous().view(torch.int32).numpy().view(np.uint32)


@njit(cache=True, nogil=True)
def _count(words, ends, counts):  # pragma: no cover - compiled
    start = 0
    for part in range(ends.size):
        row = counts[part]
        for i in range(start, ends[part]):
            row[(words[i] & np.uint32(0x7FFFFFFF)) >> np.uint32(LOW_BITS)] += 1
        start = ends[part]


@njit(cache=True, nogil=True)
def _add(words, ends, sums):  # pragma: no cover - compiled
    start = 0
    for part in range(ends.size):
        row = sums[part]
        for i in range(start, ends[part]):
            magnitude = words[i] & np.uint32(0x7FFFFFFF)
            if np.uint32(0) < magnitude < np.uint32(0x7F800000):
                hidden = np.int64(magnitude >= np.uint32(0x00800000)) << 7
                significand = np.int64(magnitude >> np.uint32(16) & np.uint32(0x7F)) | hidden
                row[magnitude >> np.uint32(LOW_BITS), 0] += 1
                row[magnitude >> np.uint32(LOW_BITS), 1] += significand * significand
        start = ends[part]

"""The choice of :func:`adagrain.models.mask.masked` for many regions of FP32 at once, compiled."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from numba import njit

from .interface.units.statistics import BINS
from .mask_network.histogram import exponent_of_largest
from .numerics.half_binades import HALF_BINADES, LOW_BITS, add_sums, words_of

__all__ = ["Chosen", "chosen"]

#: Bits of a word below those that BF16 keeps.
_CUT = np.uint32(16)

#: Magnitudes, as words: of infinities, and the largest that is finite in BF16.
_INFINITE, _LARGEST = np.uint32(0x7F800000), np.uint32(0x7F7F0000)

#: Half binade of the latter.
_LAST_FINITE = int(_LARGEST) >> LOW_BITS

#: Elements that are read twice in a row: their words stay in the second-level cache.
_BLOCK = 1 << 15


class Chosen(NamedTuple):
    """Elements that a mask keeps, and those that it has met.

    Members
    -------
    kept : Tensor of bool
        For each element; also True for those that are 0, where their bin is kept.
    sums : ndarray of int64, (regions, 512, 2)
        As :func:`~adagrain.models.numerics.half_binades.half_binade_sums` gives them.
    bases : ndarray of int64, (regions,)
        As :func:`~adagrain.models.mask_network.base_of` gives them.
    elements : int
        How many are kept that are finite and not 0, by the half binades they have unrounded.
    """

    kept: torch.Tensor
    sums: np.ndarray
    bases: np.ndarray
    elements: int


def chosen(
    x: torch.Tensor, sizes: Sequence[int], exponents: np.ndarray, tables: np.ndarray
) -> Chosen:
    """Elements that are kept, once they are rounded to BF16, to nearest even, finite ones to these.

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
    """
    kept = np.empty(len(x), dtype=np.bool_)
    sums = np.zeros((len(sizes), HALF_BINADES, 2), dtype=np.int64)
    ends = np.cumsum(np.array(sizes, dtype=np.int64))
    exponents = np.asarray(exponents, dtype=np.int64)
    bases = np.empty_like(exponents)
    elements = _choose(words_of(x), ends, exponents, tables, kept, sums, bases)
    return Chosen(torch.from_numpy(kept).to(x.device), sums, bases, elements)


@njit(cache=True, nogil=True)
def _choose(words, ends, exponents, tables, kept, sums, bases):  # pragma: no cover - compiled
    start, elements = 0, 0
    whole = np.empty(HALF_BINADES + 1, dtype=np.bool_)
    for region in range(ends.size):
        for h in range(whole.size):
            found = 2 * exponents[region] + 1 - h
            whole[h] = found < 0 or tables[region, min(found, BINS - 1)]
        for block in range(start, ends[region], _BLOCK):
            end = min(block + _BLOCK, ends[region])
            add_sums(words[block:end], sums[region])
            _look_up(words[block:end], whole, kept[block:end])
        if sums[region, _LAST_FINITE, 0]:
            _keep_finite(words[start : ends[region]], whole, kept[start : ends[region]])
        for h in range(HALF_BINADES):
            elements += sums[region, h, 0] if whole[h] else 0
        bases[region] = exponent_of_largest(sums[region])
        start = ends[region]
    return elements


@njit(cache=True, nogil=True)
def _look_up(words, whole, kept):  # pragma: no cover - compiled
    """Look up if the half binade of each element is kept, rounding's carry included."""
    for i in range(words.size):
        magnitude = words[i] & np.uint32(0x7FFFFFFF)
        odd = magnitude >> _CUT & np.uint32(1)
        kept[i] = whole[(magnitude + np.uint32(0x7FFF) + odd) >> np.uint32(LOW_BITS)]


@njit(cache=True, nogil=True)
def _keep_finite(words, whole, kept):  # pragma: no cover - compiled
    """Look those up again that would be rounded to an infinity, as the largest number."""
    for i in range(words.size):
        magnitude = words[i] & np.uint32(0x7FFFFFFF)
        if _LARGEST < magnitude < _INFINITE:
            kept[i] = whole[_LAST_FINITE]

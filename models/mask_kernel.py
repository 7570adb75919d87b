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
    there : int
        How many are finite and not 0.
    """

    kept: torch.Tensor
    sums: np.ndarray
    bases: np.ndarray
    elements: int
    there: int


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
    counts = _choose(words_of(x), ends, exponents, tables, kept, sums, bases)
    return Chosen(torch.from_numpy(kept).to(x.device), sums, bases, *counts)


@njit(cache=True, nogil=True)
def _choose(words, ends, exponents, tables, kept, sums, bases):  # pragma: no cover - compiled
    start, elements, there = 0, 0, 0
    for region in range(ends.size):
        top, table = np.int32(2 * exponents[region] + 1), _word_of(tables[region])
        for block in range(start, ends[region], _BLOCK):
            end = min(block + _BLOCK, ends[region])
            add_sums(words[block:end], sums[region])
            _look_up(words[block:end], top, table, kept[block:end])
        if sums[region, _LAST_FINITE, 0]:
            whole = _keeps(np.int32(_LAST_FINITE), top, table)
            _keep_finite(words[start : ends[region]], whole, kept[start : ends[region]])
        for h in range(HALF_BINADES):
            there += sums[region, h, 0]
            if sums[region, h, 0] and _keeps(np.int32(h), top, table):
                elements += sums[region, h, 0]
        bases[region] = exponent_of_largest(sums[region])
        start = ends[region]
    return elements, there


@njit(cache=True, nogil=True)
def _word_of(table):  # pragma: no cover - compiled
    """A table as one word, which vectors of elements can be looked up in."""
    word = np.uint64(0)
    for place in range(table.size):
        word |= np.uint64(table[place]) << np.uint64(place)
    return word


@njit(cache=True, nogil=True)
def _keeps(half_binade, top, table):  # pragma: no cover - compiled
    """1 where a half binade is kept; what lies above the table's topmost one is."""
    place = top - half_binade
    last = np.int32(BINS - 1)
    at = np.uint64(min(max(place, np.int32(0)), last))
    return table >> at & np.uint64(1) | np.uint64(place < 0)


@njit(cache=True, nogil=True)
def _look_up(words, top, table, kept):  # pragma: no cover - compiled
    """Look up if the half binade of each element is kept, rounding's carry included."""
    for i in range(words.size):
        magnitude = words[i] & np.uint32(0x7FFFFFFF)
        odd = magnitude >> _CUT & np.uint32(1)
        rounded = magnitude + np.uint32(0x7FFF) + odd
        kept[i] = _keeps(np.int32(rounded >> np.uint32(LOW_BITS)), top, table)


@njit(cache=True, nogil=True)
def _keep_finite(words, whole, kept):  # pragma: no cover - compiled
    """Those that would be rounded to an infinity are kept as the largest finite number is."""
    for i in range(words.size):
        magnitude = words[i] & np.uint32(0x7FFFFFFF)
        if _LARGEST < magnitude < _INFINITE:
            kept[i] = whole

"""Magnitudes counted by half binades, over the whole range of FP32."""

from collections.abc import Sequence

import numpy as np
import torch
from numba import njit

__all__ = [
    "HALF_BINADES",
    "LOW_BITS",
    "add_sums",
    "half_binade_sums",
    "half_binades",
    "reaching",
    "words_of",
]

#: Bits of a magnitude below those that tell its half binade.
LOW_BITS = 22

#: Half binades that FP32 has, zeros and subnormal numbers in the first, what is not finite in
#: the last two.
HALF_BINADES = 1 << 31 - LOW_BITS

#: Where the count is in a word that has the energy below it, and how many elements fit such words.
_COUNT, _MOST = 40, 1 << 22

#: Elements that are looked at before they are added, and a half binade that is not read.
_AHEAD, _NOWHERE = 1 << 10, np.uint32(HALF_BINADES - 1)

#: Where the half binade is in a word that has a squared significand below it.
_PLACE, _SQUARE = np.uint32(16), np.uint32(0xFFFF)


def half_binades(x: torch.Tensor, sizes: Sequence[int]) -> np.ndarray:
    """Number of magnitudes of each part in each half binade, int64, (parts, 512).

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
    _count(words_of(x), np.cumsum(np.array(sizes, dtype=np.int64)), counts)
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
    _add(words_of(x), np.cumsum(np.array(sizes, dtype=np.int64)), sums)
    return sums


def reaching(x: torch.Tensor, magnitude: float) -> torch.Tensor:
    """True for elements whose magnitude is another one at least; for NaNs, too.

    Parameters
    ----------
    x : Tensor
        FP32, of one dimension.
    magnitude : float
        From 0 up, an FP32 number.
    """
    found = np.empty(x.numel(), dtype=np.bool_)
    _reaching(words_of(x), np.float32(magnitude).view(np.uint32), found)
    return torch.from_numpy(found).to(x.device)


def words_of(x: torch.Tensor) -> np.ndarray:
    """The bits of FP32 elements, uint32; where they are on the CPU, the same memory."""
    words = x.detach().cpu().resolve_neg().contiguous().view(torch.int32)
    return words.numpy().view(np.uint32)


@njit(cache=True, nogil=True)
def _reaching(words, bound, found):  # pragma: no cover - compiled
    for i in range(words.size):
        found[i] = (words[i] & np.uint32(0x7FFFFFFF)) >= bound


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
        add_sums(words[start : ends[part]], sums[part])
        start = ends[part]


@njit(cache=True, nogil=True)
def add_sums(words, sums):  # pragma: no cover - compiled
    """Add those of a part, as :func:`half_binade_sums` gives them, to ``sums``.

    Two tables take turns, so that an element need not wait for the one before it.
    """
    packed = np.empty((2, HALF_BINADES), dtype=np.int64)
    ahead = np.empty(_AHEAD, dtype=np.uint32)
    for start in range(0, words.size, _MOST):
        packed[:] = 0
        _add_packed(words[start : start + _MOST], ahead, packed)
        for h in range(HALF_BINADES - 2):
            both = packed[0, h] + packed[1, h]
            sums[h, 0] += both >> _COUNT
            sums[h, 1] += both & (1 << _COUNT) - 1


@njit(cache=True, nogil=True)
def _add_packed(words, ahead, packed):  # pragma: no cover - compiled
    for start in range(0, words.size, _AHEAD):
        block = words[start : start + _AHEAD]
        _look_ahead(block, ahead)
        for i in range(block.size):
            square = np.int64(ahead[i] & _SQUARE)
            packed[i & 1, ahead[i] >> _PLACE] += (1 << _COUNT) + square


@njit(cache=True, nogil=True)
def _look_ahead(words, found):  # pragma: no cover - compiled
    """Half binades above squared significands, in vectors; zeros go where nothing counts."""
    for i in range(words.size):
        magnitude = words[i] & np.uint32(0x7FFFFFFF)
        hidden = np.uint32(magnitude >= np.uint32(0x00800000)) << np.uint32(7)
        significand = magnitude >> np.uint32(16) & np.uint32(0x7F) | hidden
        place = magnitude >> np.uint32(LOW_BITS) if magnitude else _NOWHERE
        found[i] = place << _PLACE | significand * significand

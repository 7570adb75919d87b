"""The largest magnitudes of all, by their bits, and without a sort."""

import numpy as np
import torch
from numba import njit

from .half_binades import words_of

__all__ = ["largest"]

#: Bits below the sign that each round of the selection looks at, the upper ones first.
_ROUNDS = np.array([[20, 11], [9, 11], [0, 9]])


def largest(x: torch.Tensor, count: int) -> torch.Tensor:
    """True for so many elements of the largest magnitude; of equal ones, for the first.

    What is not finite is above all else, NaNs at the top. Radix selection: the magnitude of the
    last one that is taken follows from counts of its upper bits, then, of those that have them,
    of the next ones.

    Parameters
    ----------
    x : Tensor
        FP32, of one dimension.
    count : int
        From 1 to the number of elements.
    """
    found = np.empty(x.numel(), dtype=np.bool_)
    _largest(words_of(x), count, _ROUNDS, found)
    return torch.from_numpy(found).to(x.device)


@njit(cache=True, nogil=True)
def _largest(words, count, rounds, found):  # pragma: no cover - compiled
    last, equal = _last(words, count, rounds)
    for i in range(words.size):
        found[i] = words[i] & np.uint32(0x7FFFFFFF) > last
    place = 0
    while equal:
        if words[place] & np.uint32(0x7FFFFFFF) == last:
            found[place] = True
            equal -= 1
        place += 1


@njit(cache=True, nogil=True)
def _last(words, left, rounds):  # pragma: no cover - compiled
    """The smallest magnitude that is taken, and how many that are equal to it are."""
    prefix, among = np.uint32(0), words
    for shift, bits in rounds:
        counts = np.zeros(1 << bits, dtype=np.int64)
        mask = np.uint32((1 << bits) - 1)
        for word in among:
            counts[(word & np.uint32(0x7FFFFFFF)) >> np.uint32(shift) & mask] += 1
        digit = counts.size - 1
        while counts[digit] < left:
            left -= counts[digit]
            digit -= 1
        among = _having(among, np.uint32(digit), np.uint32(shift), mask, counts[digit])
        prefix |= np.uint32(digit) << np.uint32(shift)
    return prefix, left


@njit(cache=True, nogil=True)
def _having(words, digit, shift, mask, count):  # pragma: no cover - compiled
    """Those that have these bits at this place."""
    having, place = np.empty(count + 1, dtype=np.uint32), 0  # the last one is overwritten
    for word in words:
        having[place] = word
        place += (word & np.uint32(0x7FFFFFFF)) >> shift & mask == digit
    return having[:count]

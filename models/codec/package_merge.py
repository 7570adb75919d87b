"""Optimal code lengths under a limit: package-merge (Larmore and Hirschberg, JACM 37(3), 1990)."""

import numpy as np
from numba import njit

__all__ = ["code_lengths", "merge"]


def code_lengths(weights: np.ndarray, longest: int) -> np.ndarray:
    """Lengths of the prefix code that is shortest for these weights and fills the code space.

    Parameters
    ----------
    weights : ndarray of int64, (n,)
        How often each symbol comes, at least 0; every symbol gets a code. Of equal weights, the
        one that stands first gets no shorter code.
    longest : int
        Bits that no code may exceed.

    Returns
    -------
    lengths : ndarray of int64, (n,)
        Σ 2^−length = 1.

    Raises
    ------
    ValueError
        If there are fewer than two symbols, more than 2^longest, or a weight is negative.
    """
    if not 2 <= len(weights) <= 1 << longest:
        raise ValueError(f"symbols must be from 2 to {1 << longest}, not {len(weights)}")
    if weights.min() < 0:
        raise ValueError(f"weights must be at least 0, not {weights.min()}")
    order = np.argsort(weights, kind="stable")
    lengths = np.empty(len(weights), dtype=np.int64)
    lengths[order] = merge(weights[order].astype(np.int64), longest)
    return lengths


@njit(cache=True, nogil=True)
def merge(weights, longest):  # pragma: no cover - compiled
    """:func:`code_lengths` of ascending weights, two or more, that are not checked.

    Each level's list has the symbols and the pairs of the list before it, by weight. In the first
    2n − 2 entries of the last list, a symbol stands once for each bit of its code.
    """
    n = weights.size
    is_symbol = np.zeros((longest, 2 * n), dtype=np.bool_)
    entries = np.zeros(2 * n, dtype=np.int64)
    size = 0
    for level in range(longest):
        pairs = size // 2
        sums = entries[0 : 2 * pairs : 2] + entries[1 : 2 * pairs : 2]
        symbol, pair, size = 0, 0, n + pairs
        for i in range(size):
            first = pair == pairs or (symbol < n and weights[symbol] <= sums[pair])
            is_symbol[level, i] = first
            entries[i] = weights[symbol] if first else sums[pair]
            symbol += first
            pair += not first
    lengths = np.zeros(n, dtype=np.int64)
    taken = 2 * n - 2
    for level in range(longest - 1, -1, -1):
        symbols = np.sum(is_symbol[level, :taken])
        lengths[:symbols] += 1
        taken = 2 * (taken - symbols)
    return lengths

"""Counts of symbols that a caller gives, looked at before tables are built of them."""

import numpy as np

from adagrain.models.interface.codec import SYMBOLS

__all__ = ["checked_counts"]

#: The largest count: the sums of 2^11 that package-merge makes stay below 2^63.
_MOST = 1 << 48

#: The shape of counts, by their dimensions.
_SHAPES = {1: f"({SYMBOLS},)", 2: f"(regions, {SYMBOLS})"}


def checked_counts(counts: np.ndarray, dimensions: int) -> np.ndarray:
    """Counts as int64.

    Parameters
    ----------
    counts : ndarray of integers
        How often each symbol comes: (417,), or (regions, 417).
    dimensions : int
        One or two.

    Raises
    ------
    TypeError, ValueError
        If they are no integers, have another shape, or one is negative or above 2^48.
    """
    own = np.asarray(counts)
    if own.ndim != dimensions or own.shape[-1] != SYMBOLS:
        raise ValueError(f"counts must have shape {_SHAPES[dimensions]}, not {own.shape}")
    if not np.issubdtype(own.dtype, np.integer):
        raise TypeError(f"counts must be integers, not of {own.dtype}")
    if own.min(initial=0) < 0:
        raise ValueError(f"counts must be at least 0, not {own.min()}")
    if own.max(initial=0) > _MOST:
        raise ValueError(f"counts must be at most {_MOST}, not {own.max()}")
    return own.astype(np.int64, order="C", copy=False)

"""Features and keep-tables of all regions in compiled code, for one call of the host's.

Where a training step's own work has taken the caches, each call costs more than what it computes.
"""

import numpy as np
from numba import njit

from .features import fill_features, move_features
from .layers_kernel import decide_tables

__all__ = ["decide"]


@njit(cache=True, nogil=True)
def decide(weights, given, view, found):  # pragma: no cover - compiled
    """Fill features of some regions, and the keep-tables of the golden network, bit for bit.

    Parameters
    ----------
    weights : tuple of array of float32
        As :func:`.layers_kernel.decide_tables` takes them.
    given : tuple
        What :func:`.features.fill_features` takes: surveyed features, progress, bases, logarithms
        of elements.
    view : tuple of int
        Both of :func:`.features.moves_of` the bound, and how many features are shown.
    found : tuple of array
        Features at a bound of 1, int64, (regions, 9), and tables, bool, (regions, 64). Filled.

    Returns
    -------
    bool
        False where a base is out of its range, or a weight has no scale.
    """
    (surveyed, progress, bases, logarithms), (known, tables) = given, found
    if not fill_features(surveyed, progress, bases, logarithms, known):
        return False
    seen = np.empty(known.shape, dtype=np.int8)
    move_features(known, view[:2], 0, view[2], seen)
    return decide_tables(weights, seen, tables)

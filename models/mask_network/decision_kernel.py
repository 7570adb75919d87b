"""Features and keep-tables of all regions in one compiled call.

A training step makes it once in place of three calls: where its own work has taken the caches,
each call costs more than what it computes.
"""

import numpy as np
from numba import njit

from adagrain.models.interface.units.statistics import BINS

from .features import (
    FEATURES,
    elements_features,
    fill_features,
    move_features,
    moves_of,
    progress_feature,
)
from .layers_kernel import decide_tables

__all__ = ["decided"]


def decided(
    weights: tuple[np.ndarray, ...],
    surveyed: np.ndarray,
    passes: int,
    elements: tuple[int, ...],
    bases: np.ndarray,
    bound: float,
    shown: int,
) -> tuple[np.ndarray, np.ndarray]:
    """Features of some regions, and the keep-tables of the golden network for them, bit for bit.

    Parameters
    ----------
    weights : tuple of ndarray of float32
        As :meth:`.layers.MaskLayers.of` takes them, hidden layers :func:`.layers.with_constant`.
    surveyed, passes, elements, bases
        As those of :func:`.features.features`.
    bound, shown
        As those of :func:`.features.at_bound`.

    Returns
    -------
    ndarray of int64, (regions, 9)
        What :func:`.features.features` gives.
    ndarray of bool, (regions, 64)

    Raises
    ------
    ValueError
        If a number is out of its range, or a weight is not finite, or 2**60 and above.
    """
    known = np.empty((len(bases), len(FEATURES)), dtype=np.int64)
    tables = np.empty((len(bases), BINS), dtype=np.bool_)
    given = surveyed, progress_feature(passes), bases, elements_features(elements)
    if not _decide(weights, given, moves_of(bound), shown, known, tables):
        raise ValueError(
            "weights must be finite and below 2**60, and bases an exponent, but some are not"
        )
    return known, tables


@njit(cache=True, nogil=True)
def _decide(weights, given, moves, shown, known, tables):  # pragma: no cover - compiled
    """Fill features and tables; False where they cannot be."""
    surveyed, progress, bases, logarithms = given
    if not fill_features(surveyed, progress, bases, logarithms, known):
        return False
    seen = np.empty(known.shape, dtype=np.int8)
    move_features(known, moves, 0, shown, seen)
    return decide_tables(weights, seen, tables)

"""Histograms of magnitudes as a keep-table sees them: 64 half binades below a base.

The base is that of the step before, so that elements may lie beyond bin 0; a mask keeps those
whatever its table is, and they are not counted here.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from adagrain.models.interface.units.statistics import BINS
from adagrain.models.numerics.half_binades import HALF_BINADES

__all__ = ["Histogram", "base_of", "histogram_at"]

#: The exponent of energies' unit below that of an element: significands have 8 bits.
_UNIT = 127 + 7


class Histogram(NamedTuple):
    """Counts and energies of some regions.

    Members
    -------
    counts : ndarray of float64, (regions, 64)
        Elements in each bin, zeros aside.
    energies : ndarray of float64, (regions, 64)
        Sums of their squares, significands cut to 8 bits.
    """

    counts: np.ndarray
    energies: np.ndarray


def base_of(sums: np.ndarray) -> np.ndarray:
    """The largest exponent of each region's finite elements, biased; 0 where all are zero.

    Parameters
    ----------
    sums : ndarray of int64, (regions, 512, 2)
        As :func:`~adagrain.models.numerics.half_binades.half_binade_sums` gives them.
    """
    found = sums[:, ::-1, 0] > 0
    top = HALF_BINADES - 1 - found.argmax(axis=1)
    return np.where(found.any(axis=1), top >> 1, 0)


def histogram_at(sums: np.ndarray, bases: Sequence[int] | np.ndarray) -> Histogram:
    """The bins of each region below a base of its own; the last one has all below it too.

    Parameters
    ----------
    sums : ndarray of int64, (regions, 512, 2)
        As :func:`base_of` takes them.
    bases : sequence of int, (regions,)
        Biased exponents.
    """
    fields = np.arange(HALF_BINADES) >> 1
    values = sums.astype(np.float64)
    values[:, :, 1] = np.ldexp(values[:, :, 1], 2 * (np.maximum(fields, 1) - _UNIT))
    tops = 2 * np.asarray(bases)[:, None] + 1 - np.arange(BINS - 1)
    taken = np.take_along_axis(values, np.maximum(tops, 0)[:, :, None], axis=1)
    taken[tops < 0] = 0.0
    below = np.arange(HALF_BINADES) < tops[:, -1:]
    rest = np.einsum("rh,rhk->rk", below.astype(np.float64), values)
    found = np.concatenate([taken, rest[:, None]], axis=1)
    return Histogram(found[:, :, 0], found[:, :, 1])

"""Histograms of magnitudes as a keep-table sees them: 64 half binades below a base.

The base is that of the step before, so that elements may lie beyond bin 0; a mask keeps those
whatever its table is, and they are not counted here.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numba import njit

from adagrain.models.interface.units.statistics import BINS
from adagrain.models.numerics.half_binades import HALF_BINADES

__all__ = [
    "Histogram",
    "base_of",
    "exponent_of_largest",
    "fill_histogram",
    "histogram_at",
]

#: The exponent of energies' unit below that of an element: significands have 8 bits.
_UNIT = 127 + 7

#: Value of an energy of 1 in each half binade.
_UNITS = np.ldexp(1.0, 2 * (np.maximum(np.arange(HALF_BINADES) >> 1, 1) - _UNIT))


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

    Returns
    -------
    ndarray of int64, (regions,)
    """
    bases = np.empty(len(sums), dtype=np.int64)
    _find_bases(sums, bases)
    return bases


def histogram_at(sums: np.ndarray, bases: Sequence[int] | np.ndarray) -> Histogram:
    """The bins of each region below a base of its own; the last one has all below it too.

    Parameters
    ----------
    sums : ndarray of int64, (regions, 512, 2)
        As :func:`base_of` takes them.
    bases : sequence of int, (regions,)
        Biased exponents.
    """
    found = Histogram(*np.zeros((2, len(sums), BINS)))
    fill_histogram(sums, np.asarray(bases, dtype=np.int64), *found)
    return found


@njit(cache=True, nogil=True)
def _find_bases(sums, bases):  # pragma: no cover - compiled
    for region in range(bases.size):
        bases[region] = exponent_of_largest(sums[region])


@njit(cache=True, nogil=True)
def exponent_of_largest(sums):  # pragma: no cover - compiled
    """:func:`base_of` for one region in compiled code."""
    h = HALF_BINADES - 1
    while h > 0 and sums[h, 0] == 0:
        h -= 1
    return h >> 1


@njit(cache=True, nogil=True)
def fill_histogram(sums, bases, counts, energies):  # pragma: no cover - compiled
    """:func:`histogram_at` in compiled code; counts and energies are zeros before."""
    for region in range(bases.size):
        top = 2 * bases[region] + 1
        for h in range(min(top + 1, HALF_BINADES)):
            if sums[region, h, 0]:
                place = min(top - h, BINS - 1)
                counts[region, place] += sums[region, h, 0]
                energies[region, place] += sums[region, h, 1] * _UNITS[h]

"""The slopes of the losses from what a pass has met, compiled in one."""

import numpy as np
from numba import njit

from adagrain.models.interface.codec import BINS as CODED_BINS
from adagrain.models.interface.units.statistics import BINS
from adagrain.models.mask_network.histogram import fill_histogram
from adagrain.models.mask_network.losses import DENSE

__all__ = ["find_slopes"]

_TINY = np.finfo(np.float64).tiny


@njit(cache=True, nogil=True)
def find_slopes(met, terms):  # pragma: no cover - compiled
    """Gains and costs of bins, as :func:`adagrain.models.mask_network.slopes` tells them.

    Parameters
    ----------
    met : tuple of array
        Counts and energies of half binades, int64, (regions, 512, 2); exponents from which bins are
        counted, int64, (regions,); both members of :class:`.code_bits.CodeBits`, of all regions;
        what a bin's energy is worth, float64, (regions, 64).
    terms : tuple of float
        Weights of the three losses; price and energy, as those of
        :func:`~adagrain.models.mask_network.slopes`.

    Returns
    -------
    tuple of array of float64, (regions, 64)
        Gain and cost, and the elements that they are of.
    """
    sums, bases, code_bases, code_bits, value = met
    reconstruction, sparsity, communication, price, energy = terms
    counts, gain = np.zeros((2, bases.size, BINS))
    cost = np.empty_like(counts)
    fill_histogram(sums, bases, counts, gain)
    elements = max(counts.sum(), 1.0)
    for region in range(bases.size):
        first = 2 * (code_bases[region] - bases[region])
        for place in range(BINS):
            gain[region, place] *= reconstruction * value[region, place] / max(energy, _TINY)
            bits = code_bits[region, min(max(place + first, 0), CODED_BINS - 1)]
            paid = sparsity + communication * bits / DENSE
            cost[region, place] = counts[region, place] * (price * paid / elements)
    return gain, cost, counts

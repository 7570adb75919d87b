"""Three losses that the network is to learn by: sums over histograms, so that they cost O(64).

With p the part of a bin that is kept, n its elements, E its energy, and bits what one of them takes
in the code in force, and sums over all bins of all regions:

* reconstruction, Σ value·E·(1 - p) / Σ value·E: what a mask loses,
* sparsity, Σ n·p / Σ n: the part of the elements that it sends,
* communication, Σ n·p·bits / Σ n·16: the part of dense BF16's bits that it sends.

The last two have a price: the dual variable of a budget. With value 1 they are the idea's (seed
003). All are linear in p, so the best mask keeps a bin where E·value/n exceeds a bound that is the
same for all regions, but for what bits differ: with value 1, that is a threshold on the magnitude.

What a network learns by is these slopes, what a bin gains and what it costs if it is kept.
"""

from typing import NamedTuple

import numpy as np

from adagrain.models.interface.loss_weights import LossWeights

from .histogram import Histogram

__all__ = ["DENSE", "Losses", "Slopes", "losses_of", "slopes"]

#: Bits of an element that is not coded.
DENSE = 16


class Losses(NamedTuple):
    """The three losses, each from 0 to about 1, before weights and price."""

    reconstruction: float
    sparsity: float
    communication: float


class Slopes(NamedTuple):
    """Slopes by which the weighted sum of the losses falls and grows with p; (regions, 64) each."""

    gain: np.ndarray
    cost: np.ndarray


class _Terms(NamedTuple):
    """Parts of each bin in the three losses, (regions, 64) each."""

    energies: np.ndarray
    elements: np.ndarray
    bits: np.ndarray


def losses_of(
    histogram: Histogram, kept: np.ndarray, bits: np.ndarray, value: np.ndarray | float = 1.0
) -> Losses:
    """The losses of a mask.

    Parameters
    ----------
    histogram : Histogram
        Of all regions.
    kept : ndarray, (regions, 64)
        The part of each bin that is kept, from 0 to 1.
    bits : ndarray, (regions, 64)
        What an element of the bin takes.
    value : ndarray, (regions, 64), or float
        What a bin's energy is worth, at least 0.
    """
    terms = _terms(histogram, bits, value)
    lost = 1.0 - kept
    return Losses(
        float((terms.energies * lost).sum()),
        float((terms.elements * kept).sum()),
        float((terms.bits * kept).sum()),
    )


def slopes(
    histogram: Histogram,
    bits: np.ndarray,
    weights: LossWeights,
    price: float,
    value: np.ndarray | float = 1.0,
    energy: float | None = None,
) -> Slopes:
    """Change of the losses with p, whatever p is.

    Parameters
    ----------
    histogram, bits, value
        As for :func:`losses_of`.
    weights : LossWeights
        Of the losses.
    price : float
        Factor of the two that sending costs.
    energy : float or None
        What energies are a part of; ``None``: their sum. With one that stays from step to step, a
        price stands for the same magnitude in all of them.
    """
    terms = _terms(histogram, bits, value, energy)
    cost = weights.sparsity * terms.elements + weights.communication * terms.bits
    return Slopes(weights.reconstruction * terms.energies, price * cost)


def _terms(
    histogram: Histogram,
    bits: np.ndarray,
    value: np.ndarray | float,
    whole: float | None = None,
) -> _Terms:
    energy, elements = histogram.energies * value, max(histogram.counts.sum(), 1.0)
    count = histogram.counts / elements
    whole = energy.sum() if whole is None else whole
    return _Terms(energy / max(whole, np.finfo(float).tiny), count, count * bits / DENSE)

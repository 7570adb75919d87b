"""Price of sending: the dual variable of the number of elements that are wanted."""

import math
from typing import Any

import numpy as np
from numba import njit

from adagrain.host.compression.target import SLACK
from adagrain.models.mask_network import Slopes

from .slopes_kernel import find_slopes
from .training_kernel import OCTAVES

__all__ = ["REACH", "Price", "best_price", "is_within_reach"]

#: What a pass may be found to have sent at most, as a multiple of what was wanted. One that has
#: chosen more, or less than this part, is far off.
_MOST = 4.0

#: By what factor a price may differ from the best one behind a pass that is far off: the network
#: has learned for prices that are so far apart.
REACH = 2.0 ** max(OCTAVES)


class Price:
    """Grows where more is sent than is wanted, and falls where less is: dual ascent.

    Steps are of its logarithm, in proportion to the excess; a pass counts as four times too many at
    most, or as what a whole slot has if it was cut to that. Were all counted that it had chosen,
    few would be sent in most of the others; were only what was sent, which is less, all passes
    would be cut. Steps take hundreds of passes where gradients have changed by orders of magnitude,
    or where there was little to send at first: then the price is brought near to the best one.

    Parameters
    ----------
    rate : float
        Of these steps.

    Members
    -------
    value : float or None
        The price; ``None`` as long as nothing was masked.
    """

    def __init__(self, rate: float) -> None:
        self.value: float | None = None
        self._rate = rate

    def chosen(self, elements: int, wanted: float, most: int, left_out: int) -> None:
        """Say what a pass has chosen, what was wanted, and what there was, once there is a price.

        Where all was chosen that there was, or some was left out since it did not fit, no lower
        price would have sent more.
        """
        if self.value is None or not wanted > 0:
            return
        excess = min(elements / wanted, SLACK if left_out else _MOST) - 1.0
        if excess > 0 or not (left_out or elements == most):
            self.value *= math.exp(self._rate * excess)

    @staticmethod
    def is_far_off(elements: int, wanted: float, most: int) -> bool:
        """True if a pass has chosen far more or less than it should have; as :meth:`chosen`."""
        too_many = elements > _MOST * wanted or elements == most > wanted
        return too_many or _MOST * elements < min(wanted, most)

    def is_near(self, met: tuple[Any, ...], terms: tuple[float, ...], wanted: float) -> bool:
        """True if :meth:`bring_near` would change nothing; :func:`best_price` sorts, this does not.

        Parameters
        ----------
        met, terms
            What :func:`.slopes_kernel.find_slopes` takes, at a price of 1.
        wanted : float
            How many elements are.
        """
        return self.value is not None and _is_near(self.value, met, terms, wanted)

    def bring_near(self, best: float) -> float:
        """Bring the price near to the best one, above 0; by what factor it changes, from 1."""
        before = best if self.value is None else self.value
        self.value = min(max(before, best / REACH), best * REACH)
        return max(self.value / before, before / self.value) if before > 0 else math.inf


def best_price(slopes: Slopes, counts: np.ndarray, wanted: float) -> float:
    """The price at which the bins that gain most for it have as many elements as are wanted.

    Parameters
    ----------
    slopes : Slopes
        At a price of 1.
    counts : ndarray, (regions, 64)
        Elements in the bins.
    wanted : float
        How many.

    Returns
    -------
    float
        0 if no bin gains anything.
    """
    there = counts > 0
    if not there.any():
        return 0.0
    ratios = slopes.gain[there] / slopes.cost[there]
    order = np.argsort(-ratios, kind="stable")
    place = np.searchsorted(np.cumsum(counts[there][order]), wanted)
    return float(ratios[order[min(int(place), len(order) - 1)]])


@njit(cache=True, nogil=True)
def _is_near(price, met, terms, wanted):  # pragma: no cover - compiled
    gain, cost, counts = find_slopes(met, terms)
    return is_within_reach(price, gain, cost, counts, wanted)


@njit(cache=True, nogil=True, error_model="numpy")
def is_within_reach(price, gain, cost, counts, wanted):  # pragma: no cover - compiled
    """True if the best price is neither beyond the reach of this one, nor 0."""
    there, beyond, up_to = 0.0, 0.0, 0.0
    for region in range(counts.shape[0]):
        for place in range(counts.shape[1]):
            count = counts[region, place]
            if count > 0:
                best = gain[region, place] / cost[region, place]
                there += count
                beyond += count if best > REACH * price else 0.0
                up_to += count if best >= price / REACH else 0.0
    return beyond < min(wanted, there) <= up_to

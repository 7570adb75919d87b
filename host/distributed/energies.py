"""What the gradients of regions are worth, in the integers that workers sum and devices take."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import torch

from adagrain.host.device.coprocessor import Coprocessor
from adagrain.host.device.failover import Failover
from adagrain.models.region_manager.table import ENERGY_BITS
from adagrain.models.statistics import EXPONENT_BIAS, FRACTION_BITS, Statistics

__all__ = ["AgreedEnergy", "Energies"]

#: Bits of a quantised element's square.
_SQUARE_BITS = 30

_LOWEST_EXPONENT, _HIGHEST_EXPONENT = -126, 127


class AgreedEnergy(NamedTuple):
    """Sums over the workers, of a region: A, and the elements that were clamped."""

    energy: int
    saturated: int


class Energies:
    """Energies of what enters and leaves the exchange, at an exponent that follows the average.

    An energy is in units of the region's shared exponent E: the largest exponent of its last
    average, and ceil(log2 W) + 1 more. In a region's first update there is none: nothing is
    learnt from it. A zero average keeps E. Where elements were clamped or not finite, nothing is
    learnt either.

    Parameters
    ----------
    device : Coprocessor or Failover
        What computes the statistics.
    sizes : sequence of int
        Elements of each region.
    workers : int
        W.

    Members
    -------
    exponents : list of int or None
        E of each region.
    """

    def __init__(self, device: Coprocessor | Failover, sizes: Sequence[int], workers: int) -> None:
        self._device = device
        self._margin = (workers - 1).bit_length() + 1
        self._shifts = [_excess_bits(size * workers) for size in sizes]
        self.exponents: list[int | None] = [None] * len(sizes)

    def entering(
        self, regions: Sequence[int], means: Sequence[torch.Tensor]
    ) -> dict[int, dict[str, int]]:
        """What this worker contributes for regions that are due: its part of A, and counts."""
        return {
            region: {
                "energy": found.s2 >> self._shifts[region],
                "non_finite": found.count - found.finite,
                "saturated": found.saturated,
            }
            for region, found in zip(regions, self._found(regions, means), strict=True)
        }

    def updates(
        self, agreed: Mapping[int, AgreedEnergy], averages: Sequence[torch.Tensor]
    ) -> dict[int, dict[str, int]]:
        """Energy fields of ``RegionUpdate``; exponents become those of the regions' next ones.

        Parameters
        ----------
        agreed : mapping
            What the workers found of the regions that are updated, by number.
        averages : sequence of Tensor
            The mean over all workers, of each of these.
        """
        found = self._found([*agreed], averages)
        return {
            region: self._update(region, energy, own)
            for (region, energy), own in zip(agreed.items(), found, strict=True)
        }

    def _update(self, region: int, agreed: AgreedEnergy, found: Statistics) -> dict[str, int]:
        exponent = self.exponents[region]
        if found.zero < found.count:
            follows = found.largest_exponent - EXPONENT_BIAS + self._margin
            self.exponents[region] = min(max(follows, _LOWEST_EXPONENT), _HIGHEST_EXPONENT)
        return {
            "exponent": _biased(exponent),
            "usable": not agreed.saturated and found.valid and exponent is not None,
            "a": agreed.energy,
            "n": found.s2 >> self._shifts[region],
        }

    def _found(self, regions: Sequence[int], tensors: Sequence[torch.Tensor]) -> list[Statistics]:
        exponents = [self.exponents[region] or 0 for region in regions]
        return self._device.statistics_of(tensors, exponents)

    def nothing(self, region: int) -> dict[str, int]:
        """The same fields for a region from which nothing is to be learnt."""
        return {"exponent": _biased(self.exponents[region]), "usable": False, "a": 0, "n": 0}

    def unit(self, update: Mapping[str, int]) -> float:
        """Squared gradient that one unit of an update's energies stands for."""
        exponent = update["exponent"] - EXPONENT_BIAS - FRACTION_BITS
        return 2.0 ** (2 * exponent + self._shifts[update["region"]])


def _excess_bits(elements: int) -> int:
    """Bits by which energies are shortened, so that the sum of all workers' fits."""
    return max(0, elements.bit_length() + _SQUARE_BITS - ENERGY_BITS)


def _biased(exponent: int | None) -> int:
    return (exponent or 0) + EXPONENT_BIAS

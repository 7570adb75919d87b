"""Energies of regions' gradients, in the integers that workers sum and devices take."""

from collections.abc import Mapping, Sequence

from adagrain.models.region_manager.table import ENERGY_BITS
from adagrain.models.statistics import EXPONENT_BIAS, FRACTION_BITS, Energy

from .agreement import LocalEnergy

__all__ = ["Energies"]

#: Bits of a quantised element's square.
_SQUARE_BITS = 30

_LOWEST_EXPONENT, _HIGHEST_EXPONENT = -126, 127


class Energies:
    """Energies of what enters and leaves the exchange, at an exponent that follows the average.

    An energy is in units of the region's shared exponent E: the largest exponent of its last
    average, and ceil(log2 W) + 1 more. In a region's first update there is none: nothing is
    learnt from it. A zero average keeps E. Where elements were clamped or not finite, nothing is
    learnt either.

    Parameters
    ----------
    sizes : sequence of int
        Elements of each region.
    workers : int
        W.

    Members
    -------
    exponents : list of int or None
        E of each region.
    """

    def __init__(self, sizes: Sequence[int], workers: int) -> None:
        self._margin = (workers - 1).bit_length() + 1
        self._shifts = [_excess_bits(size * workers) for size in sizes]
        self.exponents: list[int | None] = [None] * len(sizes)

    def local(self, region: int, found: Energy) -> LocalEnergy:
        """Contribution of this worker for a region that is due, given that of its mean."""
        return LocalEnergy(found.s2 >> self._shifts[region], found.non_finite, found.saturated)

    def update(
        self, region: int, a: int, found: Energy, *, exponent: int | None, clean: bool
    ) -> dict[str, int]:
        """Energy fields of ``RegionUpdate``; the region's exponent becomes that of its next one.

        Parameters
        ----------
        region : int
            Number of the region.
        a : int
            A, summed over all workers.
        found : Energy
            Of the mean over all workers.
        exponent : int or None
            E that both were taken at; ``None`` where there was none.
        clean : bool
            No worker's elements were clamped.
        """
        if not found.zero:
            follows = found.largest_exponent - EXPONENT_BIAS + self._margin
            self.exponents[region] = min(max(follows, _LOWEST_EXPONENT), _HIGHEST_EXPONENT)
        return {
            "exponent": _biased(exponent),
            "usable": clean and found.valid and exponent is not None,
            "a": a,
            "n": found.s2 >> self._shifts[region],
        }

    def nothing(self, exponent: int | None) -> dict[str, int]:
        """The same fields for a region of exponent E from which nothing is to be learnt."""
        return {"exponent": _biased(exponent), "usable": False, "a": 0, "n": 0}

    def unit(self, update: Mapping[str, int]) -> float:
        """Squared gradient that one unit of an update's energies stands for."""
        exponent = update["exponent"] - EXPONENT_BIAS - FRACTION_BITS
        return 2.0 ** (2 * exponent + self._shifts[update["region"]])


def _excess_bits(elements: int) -> int:
    """Bits by which energies are shortened, so that the sum of all workers' fits."""
    return max(0, elements.bit_length() + _SQUARE_BITS - ENERGY_BITS)


def _biased(exponent: int | None) -> int:
    return (exponent or 0) + EXPONENT_BIAS

"""Which regions are due: the step, and the cadence of each region."""

from collections.abc import Mapping, Sequence

__all__ = ["Clock"]


class Clock:
    """Counts steps. In step t, a region of cadence c is due where c divides t + 1.

    Parameters
    ----------
    cadences : sequence of int
        Of each region; powers of two.
    epoch_steps : int
        Steps per decision epoch; a multiple of the longest cadence.

    Members
    -------
    step : int
        Number of the step that is being taken, from 0.
    """

    def __init__(self, cadences: Sequence[int], epoch_steps: int) -> None:
        self.step = 0
        self.cadences = list(cadences)
        self._epoch_steps = epoch_steps

    def is_due(self, region: int) -> bool:
        """This step ends the region's period."""
        return (self.step + 1) % self.cadences[region] == 0

    def begins(self, region: int) -> bool:
        """This step is the first of the region's period."""
        return self.step % self.cadences[region] == 0

    @property
    def due(self) -> list[int]:
        """Numbers of the regions that are due."""
        return [region for region in range(len(self.cadences)) if self.is_due(region)]

    @property
    def closes_epoch(self) -> bool:
        """This step is the last of a decision epoch; every region is due."""
        return (self.step + 1) % self._epoch_steps == 0

    def advance(self, cadences: Mapping[int, int]) -> None:
        """Go on to the next step, from which on some regions may have another cadence."""
        for region, cadence in cadences.items():
            self.cadences[region] = cadence
        self.step += 1

"""The clock that says which regions are due: the step, and the cadence of each region."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

__all__ = ["Clock", "Moment"]


class Moment(NamedTuple):
    """A step, as the clock shows it while it is contributed to collectives.

    Members
    -------
    cadences, due, closes_epoch
        As those of :class:`Clock`.
    """

    cadences: list[int]
    due: list[int]
    closes_epoch: bool


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
    cadences : list of int
        Of each region, in this step.
    due : list of int
        Numbers of the regions that are due.
    slow : frozenset of int
        Numbers of the regions whose cadence is above 1.
    """

    def __init__(self, cadences: Sequence[int], epoch_steps: int) -> None:
        self._epoch_steps = epoch_steps
        self.restore(0, cadences)

    def restore(self, step: int, cadences: Sequence[int]) -> None:
        """Go to a step, with what the cadences are in it."""
        self.step = step
        self.cadences = list(cadences)
        self.due = [region for region in range(len(cadences)) if self.is_due(region)]
        self.slow = frozenset(r for r, cadence in enumerate(cadences) if cadence > 1)

    def is_due(self, region: int) -> bool:
        """This step ends the region's period."""
        return (self.step + 1) % self.cadences[region] == 0

    def begins(self, region: int) -> bool:
        """This step is the first of the region's period."""
        return self.step % self.cadences[region] == 0

    @property
    def closes_epoch(self) -> bool:
        """This step is the last of a decision epoch; every region is due."""
        return (self.step + 1) % self._epoch_steps == 0

    @property
    def now(self) -> Moment:
        """What stays of this step when the clock has gone on."""
        return Moment(self.cadences, self.due, self.closes_epoch)

    def advance(self, cadences: Mapping[int, int]) -> None:
        """Go on to the next step, from which on some regions may have another cadence."""
        if self.slow or cadences:
            now = [cadences.get(region, old) for region, old in enumerate(self.cadences)]
            self.restore(self.step + 1, now)
        else:
            self.step += 1

    def change(self, cadences: Mapping[int, int]) -> None:
        """Have some regions have another cadence from this step on, which nobody has begun yet."""
        if cadences:
            now = [cadences.get(region, old) for region, old in enumerate(self.cadences)]
            self.restore(self.step, now)

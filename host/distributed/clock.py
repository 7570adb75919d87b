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
    epoch_steps : int
        As the parameter.
    step : int
        Number of the step that is being taken, from 0.
    cadences : list of int
        Of each region, in this step.
    due : list of int
        Numbers of the regions that are due.
    slow : frozenset of int
        Numbers of the regions whose cadence is above 1.
    coming : dict of int to int
        Cadences that are to come, by region.
    """

    def __init__(self, cadences: Sequence[int], epoch_steps: int) -> None:
        self.epoch_steps = epoch_steps
        self.restore(0, cadences)

    def restore(
        self, step: int, cadences: Sequence[int], coming: Mapping[int, int] | None = None
    ) -> None:
        """Go to a step, with what the cadences are in it, and those that are to come."""
        self.step = step
        self.coming = dict(coming or {})
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
        return (self.step + 1) % self.epoch_steps == 0

    @property
    def now(self) -> Moment:
        """This step's moment; it stays when the clock goes on."""
        return Moment(self.cadences, self.due, self.closes_epoch)

    def advance(self, cadences: Mapping[int, int]) -> None:
        """Go on to the next step; then as :meth:`change`."""
        self.step += 1
        if self.slow or self.coming or cadences:
            self.change(cadences)

    def change(self, cadences: Mapping[int, int]) -> None:
        """Have some regions have another cadence, as soon as a period begins, of both.

        That is in this step, which nobody has begun yet, or in a later one: nothing that has been
        accumulated is lost, and nothing enters twice. Behind a decision epoch it is at once.
        """
        coming = self.coming | dict(cadences)
        ready = {r for r, own in coming.items() if self._begins_both(r, own)}
        now = [coming[r] if r in ready else old for r, old in enumerate(self.cadences)]
        later = {region: own for region, own in coming.items() if region not in ready}
        self.restore(self.step, now, later)

    def _begins_both(self, region: int, cadence: int) -> bool:
        """This step is the first of a period, of the region's cadence and of another one."""
        return self.step % max(cadence, self.cadences[region]) == 0

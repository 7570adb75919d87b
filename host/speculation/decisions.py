"""Decisions on steps that have landed, in their order, and when all workers can take them."""

import zlib
from collections.abc import Sequence
from typing import Any

from adagrain.host.distributed.checksum import checksum_of
from adagrain.host.distributed.stages import Stages
from adagrain.host.distributed.step_log import StepLog
from adagrain.host.regions.regions import Regions
from adagrain.models.interface.units.region_manager import SpeculationState

from .course import Course
from .landed import Landed

__all__ = ["Decisions"]


class Decisions:
    """Has the device decide on steps, each between the same two commits on all workers.

    An update may arrive on one worker before a commit, and on another after it. What is agreed on
    at a commit depends on decisions: on exponents, on checksums. So with several updates in flight
    a decision waits for the commit that needs its update.

    Parameters
    ----------
    regions : Regions
        The regions.
    stages : Stages
        Agree and decide.
    depth : int
        Updates in flight, at most; at least 1.
    course : Course
        Is told what was decided.

    Members
    -------
    gains : list of int
        By region, as the device has decided last; in sixteenths, 0 in the state GLOBAL.
    missing : float
        Seconds for which the last update that was decided on had been missing in the next step,
        whether or not something else was done.
    last : StepLog or None
        Of the last step that was decided on.
    needed : int
        Number of the newest step whose update the step in the making must have.
    """

    def __init__(self, regions: Regions, stages: Stages, depth: int, course: Course) -> None:
        self._regions = regions
        self._members = [[part.parameter for part in region.slices] for region in regions]
        self._stages = stages
        self._depth = depth
        self._course = course
        self._landed: list[Landed] = []
        self._weights: list[int] = []
        self.gains = [0] * len(regions)
        self.missing = 0.0
        self.last: StepLog | None = None
        self.needed = -depth

    def begin(self, gains: Sequence[int]) -> None:
        """Begin, or go on from another step: all that has been sent has landed."""
        self.gains = [*gains]
        self._weights = [checksum_of(members) for members in self._members]
        self.take_off(self._stages.clock.step - 1)

    def take_off(self, number: int) -> None:
        """Say that a step has been committed."""
        self.needed = number + 1 - self._depth
        self._decide()

    def land(self, landed: Landed) -> None:
        """A step has landed; those before it have, too."""
        self._landed.append(landed)
        self._decide()

    def end(self) -> None:
        """Say that no further step will be committed."""
        for landed in self._landed:
            self._end(landed)
        self._landed = []

    def weights(self) -> int:
        """Checksum of the anchors behind the newest update that the step in the making must have.

        At steps where :meth:`~adagrain.host.distributed.stages.Stages.compares` says so. Several
        updates deep newer ones may have been applied here, and not on other workers.
        """
        if self._depth == 1:
            return checksum_of(self._regions.parameters())
        return zlib.crc32(b"".join(own.to_bytes(4, "little") for own in self._weights))

    def checksums(self, number: int) -> list[int] | None:
        """Room for the checksums of anchors behind a step's update; ``None``: nobody asks."""
        asks = self._depth > 1 and self._stages.compares(number + self._depth)
        return [0] * len(self._regions) if asks else None

    def state(self) -> list[dict[str, Any]]:
        """Steps that landed, and are not decided on."""
        return [landed.save() for landed in self._landed]

    def restore(self, state: Sequence[dict[str, Any]]) -> None:
        """Restore what :meth:`state` gave."""
        self._landed = [Landed.restored(own) for own in state]

    def _decide(self) -> None:
        while self._landed and self._landed[0].step.number <= self.needed:
            self._end(self._landed.pop(0))

    def _end(self, landed: Landed) -> None:
        self.missing = landed.missing
        self._weights = landed.weights or self._weights
        self.last = log = self._stages.decide_late(landed.step)
        for number, region in enumerate(self._regions):
            if region.name in log.decisions:  # it was due
                self.gains[number] = _gain(log.decisions[region.name])
        self._course.decide(log)
        self._stages.commit.tell(log)


def _gain(decision: dict[str, int]) -> int:
    return 0 if decision["state"] == SpeculationState.GLOBAL else decision["gain"]

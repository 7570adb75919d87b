"""Updates as they arrive: applied to the anchors, and compared with what was guessed."""

import time
from collections.abc import Sequence

import torch
from torch import nn
from torch.nn.utils import clip_grad_norm_, clip_grads_with_norm_, get_total_norm

from adagrain.host.distributed.flown import Flown
from adagrain.host.distributed.stages import Stages
from adagrain.host.distributed.step_log import StepLog
from adagrain.host.regions.regions import Regions
from adagrain.models.interface.units.region_manager import SpeculationState

from .course import Course
from .flight import Departed, Flight
from .leaves import Leaves
from .tags import Tags
from .verdict import Judge

__all__ = ["Arrivals"]


class Arrivals:
    """Brings a flight home, bucket by bucket, in whatever order the buckets arrive.

    Nothing here begins a collective. After the last bucket the device decides on the step, and
    its states say what is guessed of the next one.

    Parameters
    ----------
    regions : Regions
        The regions.
    parameters : sequence of Parameter
        Those of all regions, in the order of the model.
    stages : Stages
        Agree and decide.
    leaves : Leaves
        Anchors and guesses.
    judge : Judge
        Compares them.
    tags : Tags
        Guesses that have entered the step in the making.
    clip : float or None
        As in :class:`~.options.SpeculationOptions`.
    course : Course
        Knows what has arrived, and is told what became of it.

    Members
    -------
    flight : Flight or None
        The step in flight.
    gains : list of int
        By region, as the device has decided last; in sixteenths, 0 in the state GLOBAL.
    waited : float
        Seconds that were waited for collectives, in all.
    missing : float
        Seconds for which the last update was awaited, whether or not something else was done.
    last : StepLog or None
        Of the last step that was decided on.
    """

    def __init__(
        self,
        regions: Regions,
        parameters: Sequence[nn.Parameter],
        stages: Stages,
        leaves: Leaves,
        judge: Judge,
        tags: Tags,
        clip: float | None,
        course: Course,
    ) -> None:
        self._regions = regions
        self._members = [[part.parameter for part in region.slices] for region in regions]
        self._region_of = {p: r for r, members in enumerate(self._members) for p in members}
        self._parameters = parameters
        self._stages = stages
        self._leaves = leaves
        self._judge = judge
        self._tags = tags
        self._clip = clip
        self._course = course
        self._since = 0.0
        self.flight: Flight | None = None
        self.gains = [0] * len(regions)
        self.waited = self.missing = 0.0
        self.last: StepLog | None = None

    def await_from_now(self) -> None:
        """Say that from now on the update in flight is missing."""
        self._since = time.perf_counter()

    def is_resolved(self, region: int) -> bool:
        """True if the region's anchor is up to date."""
        return self.flight is None or region not in self.flight.unresolved

    def may_guess(self, region: int) -> bool:
        """True if a guess may stand for the region's update in flight."""
        return self.flight is not None and self.flight.gains[region] > 0

    def poll(self) -> None:
        """Apply what has arrived, without waiting."""
        flight = self.flight
        if flight is None:
            return
        arrived = self._course.arrived(flight, whole=self._clip is not None)
        if arrived:
            self._apply(flight, arrived)

    def wait_for(self, region: int) -> None:
        """Wait for a region's update, and apply it."""
        if self.flight is not None and region in self.flight.unresolved:
            departed = self.flight.departed
            own = [one for one in departed if self._clip or region in one.bucket.regions]
            self._apply(self.flight, own)

    def finish(self) -> None:
        """Wait for all updates, and apply them."""
        if self.flight is not None:
            self._apply(self.flight, self.flight.departed)

    def guess(self, region: int) -> None:
        """See to it that a region's guess is computed: the optimizer replayed on local gradients.

        That needs the anchor as it is before its update.
        """
        flight = self.flight
        assert flight is not None
        if region in flight.guessed:
            return
        leaves = {p: self._leaves.guess(p) for p in self._members[region]}
        for parameter, leaf in leaves.items():
            leaf.grad = self._scaled(flight, parameter)
        if self._clip is not None:
            if flight.norm is None:
                flight.norm = get_total_norm([self._scaled(flight, p) for p in self._parameters])
            clip_grads_with_norm_(leaves.values(), self._clip, flight.norm)
        flight.replay.guess(leaves)
        for leaf in leaves.values():
            leaf.grad = None
        flight.guessed.add(region)

    def _scaled(self, flight: Flight, parameter: nn.Parameter) -> torch.Tensor:
        """A local gradient as guesses take it; whole, where the region is not guessed."""
        return flight.gradients[parameter] * ((flight.gains[self._region_of[parameter]] or 16) / 16)

    def _apply(self, flight: Flight, arriving: Sequence[Departed]) -> None:
        began = time.perf_counter()
        if flight.step.agreed is None:
            self._stages.agree.end(flight.step)
        for own in arriving:
            own.pending.wait()
        ended = time.perf_counter()
        self.waited += ended - began
        flight.waited += ended - began
        self._update(flight, [region for own in arriving for region in own.bucket.regions])
        flight.departed = [own for own in flight.departed if own not in arriving]
        if not flight.departed:
            self._end(flight, hidden=ended - flight.began - flight.waited)

    def _update(self, flight: Flight, regions: Sequence[int]) -> None:
        """Update the anchors of regions, and judge those whose guess has entered."""
        due = flight.step.due
        arrived = [p for region in regions for p in self._members[region]]
        for parameter in arrived:
            parameter.grad = torch.empty_like(parameter)
            self._stages.accumulators.write_back(parameter, parameter.grad, due)
        if self._clip is not None:
            clip_grad_norm_(self._parameters, self._clip)
        entered = [region for region in regions if self._tags.has(region)]
        before = [_flat(self._members[region]).clone() for region in entered]
        flight.replay.update(
            [p for region in regions if region in due for p in self._members[region]]
        )
        for parameter in arrived:
            parameter.grad = None
        flight.unresolved.difference_update(regions)
        for region, old in zip(entered, before, strict=True):
            guess = _flat([self._leaves.guessed(p) for p in self._members[region]])
            verdict = self._judge.judge(old, guess, _flat(self._members[region]))
            self._course.judge(flight.step.number, region, verdict)
            self._tags.resolve(region, accepted=verdict.accepted)

    def _end(self, flight: Flight, *, hidden: float) -> None:
        """Have the device decide on the step."""
        self._stages.gather.wait(flight.step.current)
        self.missing = time.perf_counter() - self._since
        self.flight = None
        flight.step.flown = Flown(flight.passes_redone, flight.waited, hidden, self.missing)
        self.last = log = self._stages.end(flight.step)
        self.gains = [_gain(log.decisions[region.name]) for region in self._regions]
        self._course.decide(log)
        self._stages.commit.tell(log)


def _flat(tensors: Sequence[torch.Tensor]) -> torch.Tensor:
    """All elements, one after the other."""
    return torch.cat([own.detach().reshape(-1) for own in tensors])


def _gain(decision: dict[str, int]) -> int:
    return 0 if decision["state"] == SpeculationState.GLOBAL else decision["gain"]

"""Updates as they arrive: applied to the anchors, and compared with what was guessed."""

import time
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import takewhile

import torch
from torch import nn
from torch.nn.utils import clip_grads_with_norm_, get_total_norm

from adagrain.host.distributed.checksum import checksum_of
from adagrain.host.distributed.flown import Flown
from adagrain.host.distributed.stages import Stages
from adagrain.host.regions.regions import Regions

from .apart import Apart
from .chain import Chain, flat
from .course import Course
from .decisions import Decisions
from .flight import Departed, Flight
from .guesses import Guesses
from .landed import Landed
from .plainly import plainly
from .tags import Tags
from .verdict import Guess, Judge, Verdict

__all__ = ["Arrivals"]


class Arrivals:
    """Brings flights home, bucket by bucket, in whatever order the buckets arrive.

    Each region gets its updates in the order of the steps. Nothing here begins a collective.
    Parameters in no region, those of controllers, are never guessed: a step takes them as they are.

    Parameters
    ----------
    regions : Regions
        The regions.
    parameters : sequence of Parameter
        Those of all regions, in the order of the model: their norm is clipped.
    stages : Stages
        Agree and decide.
    guesses : Guesses
        Computes guesses.
    decisions : Decisions
        Decides on steps that have landed.
    judge : Judge
        Compares guesses with the truth.
    tags : Tags
        Guesses that have entered the step in the making.
    apart : Apart
        Updates parameters in no region.
    clip : float or None
        As in :class:`~.options.SpeculationOptions`.
    course : Course
        Knows what has arrived, and is told what became of it.

    Members
    -------
    flights : list of Flight
        Steps that have not landed, the oldest first.
    blind : float
        The longest time, in seconds, between two looks at what has arrived in the step in the
        making, waiting left out.
    """

    def __init__(
        self,
        regions: Regions,
        parameters: Sequence[nn.Parameter],
        stages: Stages,
        guesses: Guesses,
        decisions: Decisions,
        judge: Judge,
        tags: Tags,
        apart: Apart,
        clip: float | None,
        course: Course,
    ) -> None:
        self._members = [[part.parameter for part in region.slices] for region in regions]
        self._parameters = parameters
        self._stages = stages
        self._guesses = guesses
        self._decisions = decisions
        self._judge = judge
        self._tags = tags
        self._clip = clip
        self._course = course
        self._apart = apart
        self.flights: list[Flight] = []
        self.blind = 0.0
        self._looked = 0.0

    @property
    def in_flight(self) -> bool:
        """True while an update is missing somewhere."""
        return bool(self.flights)

    @property
    def owes(self) -> bool:
        """True while an update is missing that the step in the making must have."""
        return any(flight.step.number <= self._decisions.needed for flight in self.flights)

    def take_off(self, flight: Flight) -> None:
        """A step has been committed."""
        if flight.weights is not None:
            for region in {*range(len(self._members))} - flight.unresolved:
                if self.is_resolved(region):
                    flight.weights[region] = checksum_of(self._members[region])
        self.flights.append(flight)
        self._decisions.take_off(flight.step.number)

    def give_up(self) -> None:
        """Forget what is in flight: the run cannot go on."""
        self.flights = []

    def await_from_now(self) -> None:
        """Say that from now on the updates in flight are missing."""
        self.blind, self._looked = 0.0, time.perf_counter()
        for flight in self.flights:
            flight.since = flight.since or self._looked

    def is_resolved(self, region: int) -> bool:
        """True if the region's anchor is up to date."""
        return not self._missing(region)

    def may_guess(self, region: int) -> bool:
        """True if a guess may stand for the region's updates in flight."""
        missing = self._missing(region)
        return bool(missing) and all(flight.gains[region] > 0 for flight in missing)

    def poll(self) -> None:
        """Apply what has arrived, without waiting."""
        now = time.perf_counter()
        self.blind, self._looked = max(self.blind, now - self._looked), now
        for flight in [own for own in self.flights if own.there is None]:
            next_ones = [own for own in flight.departed if self._is_next(flight, own.regions)]
            whole = self._clip is not None
            arrived = self._course.arrived(flight, next_ones, whole=whole)
            if arrived is not None:
                self._apply(flight, arrived)

    def wait_for(self, region: int) -> None:
        """Wait for a region's updates, up to the last for which no guess may stand."""
        for at, flight in reversed([*enumerate(self.flights)]):
            if region in flight.unresolved and not flight.gains[region]:
                self._bring(at, {region})
                return

    def finish(self) -> None:
        """Wait for all updates that the step in the making must have, and apply them."""
        for flight in [*self.flights]:
            if flight.step.number <= self._decisions.needed:
                self._apply(flight, flight.departed)

    def land(self) -> None:
        """Wait for all updates, and apply them."""
        for flight in [*self.flights]:
            self._apply(flight, flight.departed)
        self._apart.update()

    def commit(self) -> None:
        """Update parameters in no region by all steps whose updates the one that ends must have.

        That is here, whenever the updates arrived: modules see the same ones in each run. Only
        :meth:`land` is earlier, on a worker that settles.
        """
        self._apart.update(self._decisions.needed)

    @plainly()
    def guess(self, region: int) -> Chain:
        """A region's guess, which enters the step in the making."""
        return self._guesses.enter(region, self._missing(region))

    def _missing(self, region: int) -> list[Flight]:
        """Flights that have not updated a region's anchor, the oldest first."""
        return [flight for flight in self.flights if region in flight.unresolved]

    def _is_next(self, flight: Flight, regions: Collection[int]) -> bool:
        """True if regions have all updates of earlier flights."""
        earlier = self.flights[: self.flights.index(flight)]
        return all(own.unresolved.isdisjoint(regions) for own in earlier)

    def _bring(self, at: int, regions: Collection[int]) -> None:
        """Wait for regions' updates by a flight, and by those before it, and apply them."""
        flight = self.flights[at]
        own = [one for one in flight.departed if not {*one.regions}.isdisjoint(regions)]
        if own and self._clip:
            own = [*flight.departed]
        if at:
            self._bring(at - 1, {*regions}.union(*(one.regions for one in own)))
        if own:
            self._apply(flight, own)

    @plainly()
    def _apply(self, flight: Flight, arriving: Sequence[Departed]) -> None:
        """Wait for buckets, and update the regions of one while the next is under way.

        All of a flight may be there before all of an earlier one, which has other regions; they
        land in their order.
        """
        if flight.there is not None:
            return
        if flight.step.agreed is None:
            with self._waiting(flight):
                self._stages.agree.end(flight.step)
        for part in [arriving] if self._clip else [[own] for own in arriving]:
            with self._waiting(flight):
                for own in part:
                    own.pending.wait()
            self._update(flight, [region for own in part for region in own.regions])
        flight.departed = [own for own in flight.departed if own not in arriving]
        if not flight.departed:
            flight.there = time.perf_counter()
        while self.flights and self.flights[0].there is not None:
            self._land(self.flights[0], self.flights[0].there)

    @contextmanager
    def _waiting(self, flight: Flight) -> Iterator[None]:
        """Note how long a flight is waited for."""
        began = time.perf_counter()
        yield
        self._looked = flight.seen = time.perf_counter()
        flight.waited += flight.seen - began

    def _update(self, flight: Flight, regions: Sequence[int]) -> None:
        """Update the anchors of regions, and judge those whose guess has entered."""
        due = flight.step.due
        arrived = [p for region in regions for p in self._members[region]]
        for parameter in arrived:
            parameter.grad = self._average(flight, parameter)
        if self._clip is not None:
            norm = get_total_norm([self._average(flight, own) for own in self._parameters])
            clip_grads_with_norm_(arrived, self._clip, norm)
        entered = [region for region in regions if self._tags.has(region)]
        before = [flat(self._members[region]) for region in entered]
        flight.replay.update(
            [p for region in regions if region in due for p in self._members[region]]
        )
        for parameter in arrived:
            parameter.grad = None
        flight.unresolved.difference_update(regions)
        for region in regions:
            self._guesses.outdate(region)
            self._note_weights(flight, region)
        if entered:
            self._compare(flight.step.number, dict(zip(entered, before, strict=True)))

    def _average(self, flight: Flight, parameter: nn.Parameter) -> torch.Tensor:
        """A parameter's gradient in a flight, averaged over the workers; zeros if it is not due."""
        gradient, place = torch.empty_like(parameter), flight.step.current.place
        self._stages.accumulators.write_back(parameter, gradient, flight.step.due, place)
        return gradient

    def _note_weights(self, flight: Flight, region: int) -> None:
        """Note a region's anchor for all who ask for it, from a flight to the next it is due in."""
        behind = self.flights[self.flights.index(flight) :]
        during = takewhile(lambda own: region not in own.unresolved, behind)
        if asking := [own.weights for own in during if own.weights is not None]:
            found = checksum_of(self._members[region])
            for weights in asking:
                weights[region] = found

    def _compare(self, step: int, before: Mapping[int, torch.Tensor]) -> None:
        """Compare what was guessed of a step's updates with the true ones.

        Parameters
        ----------
        step : int
            Its number.
        before : mapping of int to Tensor
            Weights in front of the update, of each region whose guess has entered.
        """
        chains = [(region, own) for region in before for own in self._guesses.entered(region)]
        truths = {region: flat(self._members[region]) for region in before}
        guesses = [
            Guess(before[region], truths[region], *chain.take(before[region]))
            for region, chain in chains
        ]
        verdicts: defaultdict[int, list[Verdict]] = defaultdict(list)
        for (region, _), verdict in zip(chains, self._judge.judge(guesses), strict=True):
            self._course.judge(step, region, verdict)
            verdicts[region].append(verdict)
        for region, found in verdicts.items():
            self._tags.resolve(
                region,
                accepted=all(verdict.accepted for verdict in found),
                worthy=all(verdict.worthy for verdict in found),
                last=not self._guesses.entered(region)[-1].left,
            )

    def _land(self, flight: Flight, there: float) -> None:
        """All of a flight has arrived, and of those before it."""
        missing = there - (flight.since or there)
        hidden = flight.seen - flight.began - flight.waited
        flight.step.flown = Flown(flight.passes_redone, flight.waited, hidden, missing)
        self._stages.land(flight.step)
        self.flights.remove(flight)
        self._apart.land(flight)
        self._decisions.land(Landed(flight.step, missing, flight.weights))

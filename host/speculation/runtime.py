"""The runtime of speculative training: the second front-end of the reducer's stages."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NoReturn

import torch
from torch import nn

from adagrain.host.device.coprocessor import Coprocessor
from adagrain.host.distributed.checksum import checksum_of, sha256_of
from adagrain.host.distributed.exchange import Exchange
from adagrain.host.distributed.lockstep import Lockstep
from adagrain.host.distributed.reducer_options import ReducerOptions
from adagrain.host.distributed.stages import Stages
from adagrain.host.distributed.state import check_optimizers, check_parts
from adagrain.host.distributed.step import Step
from adagrain.host.distributed.step_log import StepLog
from adagrain.host.regions.regions import Regions, apart, trainable
from adagrain.models.interface.units.region_manager import SpeculationState

from .apart import Apart
from .arrivals import Arrivals
from .buckets import buckets_apart
from .closure import Closure
from .counts import Counts
from .course import Course, Times
from .decisions import Decisions
from .departure import Departure
from .failure import Failure
from .form import Form
from .guard import Guard
from .guesses import Guesses
from .leaves import Leaves
from .link import Link
from .options import SpeculationOptions
from .outcomes import Outcomes
from .passes import Passes
from .planner import Planner
from .standing import Standings
from .tags import Tags
from .take_off import TakeOff
from .verdict import Judge

__all__ = ["Runtime"]


class Runtime:
    """Takes steps, each of which may be computed while updates of earlier ones are in flight.

    A step is *committed* with its first contribution to a collective. Until then all that it has
    changed can be undone; from then on nothing of it is. The collectives are the same in each
    step, in the same order, whatever is guessed, accepted, rejected, or late: the buckets, the
    agreement, and the comparison of the workers. That is awaited in front of the next step's first
    contribution; by then it has long been there.

    Parameters in no region, those of controllers, are exchanged in each step and never guessed: a
    step is computed with what they are as it begins, and updated by as many steps fewer as may be
    in flight. With τ = 0, which admits of no difference, each update is waited for then.

    Parameters
    ----------
    model : nn.Module
        The model.
    optimizers : sequence of torch.optim.Optimizer
        Its optimizers.
    regions : Regions
        Its regions.
    device : Coprocessor
        This worker's device.
    lockstep : Lockstep
        Compares the workers.
    exchange : Exchange
        Averages over them.
    options : SpeculationOptions
        How to speculate.
    reducing : ReducerOptions
        Policies, decision epochs, who looks on.
    link : Link or None
        What joins the workers; ``None`` where buckets are not chosen from it.
    course : Course
        What of the run depends on time.

    Members
    -------
    counts : Counts
        What became of guesses.
    guard : Guard
        Tells the other workers of errors.
    """

    def __init__(
        self,
        model: nn.Module,
        optimizers: Sequence[torch.optim.Optimizer],
        regions: Regions,
        device: Coprocessor,
        lockstep: Lockstep,
        exchange: Exchange,
        options: SpeculationOptions,
        reducing: ReducerOptions,
        link: Link | None,
        course: Course,
    ) -> None:
        self.counts = Counts()
        self._failure = Failure()
        self._optimizers = optimizers
        self._regions = regions
        self._device = device
        self._lockstep = lockstep
        self._exchange = exchange
        self._places = max(1, options.depth)
        self._course, self._timing = course, reducing.timing
        self._planner = Planner(regions, options.bucket_bytes, link, lockstep.group, course)
        self._stages = Stages(
            *(regions, device, lockstep, exchange, reducing), guesses=True, depth=self._places
        )
        self._outcomes = Outcomes()
        self._tags = Tags()
        out, known = apart(model), trainable(model)
        self._apart = buckets_apart([*out.values()])
        self._waits = not options.depth or (bool(out) and not options.tau)
        leaves = Leaves(model, known)
        judge = Judge(device, options.tau, options.worth, Form(options.form))
        shared = regions, [own for name, own in known.items() if name not in out]
        self._guesses = Guesses(*shared, leaves, options.clip)
        self._decisions = Decisions(regions, self._stages, self._places, course)
        self._standings = Standings(regions, device, self._stages, self._decisions, self._planner)
        self._take_off = TakeOff(
            *(optimizers, regions, self._stages, self._decisions, options), [*out.values()]
        )
        self._arrivals = Arrivals(
            *(*shared, self._stages, self._guesses, self._decisions, judge, self._tags),
            *(Apart(model), options.clip, course),
        )
        self.guard = Guard(lockstep, self._planner, self._departure, self._arrivals.give_up)
        self._passes = Passes(
            *(model, regions, [*known.values()], leaves, self._arrivals, self._tags, course),
            keep_outputs=options.keep_outputs,
            idle=self.settle,
            quiet=exchange.rank != 0,
        )
        try:
            self._look()
        except BaseException:
            self._let_go()
            raise

    @property
    def last_step(self) -> StepLog | None:
        """The last step that was decided on."""
        return self._decisions.last

    @property
    def gains(self) -> dict[str, int]:
        """Sixteenths of local gradients that enter the next guess, by region."""
        return dict(zip(self._regions.names, self._decisions.gains, strict=True))

    @property
    def buckets(self) -> list[tuple[str, ...]]:
        """Names of the regions that go together, in the order in which they depart."""
        with self.guard.told():
            return [*map(tuple, self._planner.named)]

    @property
    def cadences(self) -> dict[str, int]:
        """Steps per update, by region, in the next step, as far as has been decided."""
        return dict(zip(self._regions.names, self._stages.clock.cadences, strict=True))

    @property
    def passes_redone(self) -> int:
        """Forward and backward passes that were done again."""
        return self._passes.redone

    @property
    def steps(self) -> int:
        """Steps that were committed, also before this runtime, if it goes on with their state."""
        return self._stages.clock.step

    @property
    def bytes_sent(self) -> int:
        """Bytes of gradients that this worker has put into collectives."""
        return self._exchange.bytes_sent

    @property
    def bytes_dense(self) -> int:
        """Bytes of all gradients that were added: what a dense exchange would have sent."""
        return self._stages.gather.bytes_dense

    @property
    def dropped(self) -> int:
        """Updates that were dropped, because a gradient was not finite."""
        return self._stages.decide.dropped

    def refuse(self, message: str) -> NoReturn:
        """Fail, as the script has done what it must not: nothing goes on."""
        with self._failure.watched(), self.guard.told():
            raise RuntimeError(message)

    def check_outside(self, call: str) -> None:
        """See to it that a closure does not make a call which must wait for the step.

        Raises
        ------
        RuntimeError
            If closures are being run.
        """
        if self._passes.stepping:
            raise RuntimeError(f"{call} must not be called within a closure, but after its step")

    def report(self, loss: torch.Tensor) -> None:
        """Say what the loss of the closure that is running is, if it is not what it returns."""
        self._passes.report(loss)

    def step(self, closures: Sequence[Closure]) -> list[torch.Tensor]:
        """Take a step; the closures' losses.

        Raises
        ------
        Exception
            Whatever stops this worker; a ``WorkerFailedError`` with its text on the others. Then
            nothing goes on: :meth:`step`, :meth:`settle` and :meth:`state_dict` say so.
        """
        self.check_outside("step()")
        with self._failure.watched():
            return self._step(closures)

    def _step(self, closures: Sequence[Closure]) -> list[torch.Tensor]:
        self._lockstep.post(self._standings.compared)
        self._arrivals.await_from_now()
        self._tags.begin()
        self._guesses.begin()
        with self.guard.told():
            self._take_off.check()
            departure, redone = self._departure(), self.passes_redone
        with self.guard.given_up(departure):
            losses = self._passes.compute(closures, departure)
            self._commit(losses, departure, self.passes_redone - redone)
        if self._waits:
            self.settle()
        return losses

    def settle(self) -> None:
        """Wait for all updates in flight: the model's parameters are up to date then."""
        with self._failure.watched():
            if self._arrivals.in_flight:
                with self.guard.told():
                    self._arrivals.await_from_now()
                    self._arrivals.land()

    def finish(self) -> None:
        """Wait for all updates in flight, and decide on all steps: no other is to be taken."""
        self.settle()
        with self._failure.watched():
            self._decisions.end()

    def state_dict(self) -> dict[str, Any]:
        """State of the stages and the device, after all updates in flight."""
        self.settle()
        with self._failure.watched(), self.guard.told():
            planned = self._planner.state_dict()
        return {
            **self._stages.state_dict(),
            **planned,
            "guesses": self._outcomes.state_dict(),
            "undecided": self._decisions.state(),
        }

    def load_state_dict(
        self, state: Mapping[str, Any], optimizers: Sequence[dict[str, Any]]
    ) -> None:
        """Restore what :meth:`state_dict` gave, and the optimizers' states.

        Raises
        ------
        TypeError, ValueError
            If it is no such state, or of another run; then nothing has changed.
        Exception
            Whatever else stops it: it may be half loaded, and nothing goes on.
        """
        check_parts(state, "buckets", "guesses", "undecided")
        self._stages.check_state(state)
        check_optimizers(optimizers, self._optimizers)
        self.settle()
        with self._failure.watched():
            with self.guard.told():
                self._stages.load_state_dict(state)
                self._planner.load_state_dict(state)
                self._outcomes.load_state_dict(state["guesses"])
                self._decisions.restore(state["undecided"])
                for optimizer, saved in zip(self._optimizers, optimizers, strict=True):
                    optimizer.load_state_dict(saved)
            self._look()

    def close(self) -> None:
        """Wait for all updates in flight, unless something has failed, and let go of the model."""
        try:
            if self._failure.error is None:
                self.finish()
                self._lockstep.end()
                self._exchange.close()
                self._course.end(lambda: sha256_of(self._regions.parameters()))
        finally:
            self._let_go()

    def _let_go(self) -> None:
        self._passes.close()
        self.guard.close()

    def _look(self) -> None:
        """Take over what the device's records say, and how this worker stands."""
        records = self._device.read_regions(0, len(self._regions))
        is_global = [record["state"] == SpeculationState.GLOBAL for record in records]
        rows = zip(records, is_global, strict=True)
        self._decisions.begin([0 if waits else record["gain"] for record, waits in rows])
        with self.guard.told():
            self._course.begin(self._standings.recorded)

    def _departure(self) -> Departure:
        compare = partial(self._lockstep.check, self._standings.compared)
        place = self._stages.clock.step % self._places  # which no flight needs any more
        return Departure([*self._planner.buckets, *self._apart], self._stages, compare, place)

    def _commit(self, losses: Sequence[torch.Tensor], departure: Departure, redone: int) -> None:
        """End the contributions of a step; from now on its update is in flight."""
        step = departure.step
        assert step is not None
        self._arrivals.commit()
        step.losses += map(self._stages.losses.checked, losses)
        step.stall, step.redo = self._times(step)
        step.guesses = self._outcomes.told(self._tags.worthy, self._stages.clock.due)
        departure.agree()
        self._planner.watch(departure.ready_after)
        self._planner.tell()
        if step.current.failure is not None:
            self._lockstep.tell(step.current.failure)
        self._lockstep.post(self._standings.compared)
        alone = not self._arrivals.in_flight
        flight = self._take_off.flight(departure, redone, alone=alone)
        self._stages.clock.advance({})
        self._arrivals.take_off(flight)
        for optimizer in self._optimizers:
            optimizer.__dict__["_opt_called"] = True  # schedulers ask for it
        self.counts.note(self._regions.names, self._tags.guesses, guessed=self._guesses.any)

    def _times(self, step: Step) -> tuple[float, float]:
        """Seconds of stall and redo that a step tells."""
        measured = Times(*self._timing.local(self._decisions.missing, self._arrivals.blind))
        anchors = self._regions.parameters()
        told = self._course.commit(step.number, measured, step.losses, lambda: checksum_of(anchors))
        return told.stall / 1e6, told.redo / 1e6

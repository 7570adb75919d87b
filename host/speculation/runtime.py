"""The runtime of speculative training: the second front-end of the reducer's stages."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import nn

from adagrain.host.device.coprocessor import Coprocessor
from adagrain.host.distributed.checksum import checksum_of, sha256_of
from adagrain.host.distributed.exchange import Exchange
from adagrain.host.distributed.lockstep import Lockstep, is_known
from adagrain.host.distributed.reducer_options import ReducerOptions
from adagrain.host.distributed.stages import Stages
from adagrain.host.distributed.step import Step
from adagrain.host.distributed.step_log import StepLog
from adagrain.host.regions.regions import Regions, trainable
from adagrain.models.interface.units.region_manager import SpeculationState

from .arrivals import Arrivals
from .buckets import buckets_of
from .counts import Counts
from .course import Course, Standing, Times
from .departure import Departure
from .flight import Flight
from .form import Form
from .leaves import Leaves
from .options import SpeculationOptions
from .passes import Closure, Computed, Passes
from .replay import Replay
from .tags import Tags
from .verdict import Judge

__all__ = ["Runtime"]


class Runtime:
    """Takes steps, each of which may be computed while the update of the one before is in flight.

    A step is *committed* with its first contribution to a collective. Until then all that it has
    changed can be undone; from then on nothing of it is. The collectives are the same in each
    step, in the same order, whatever is guessed, accepted, rejected, or late: the buckets, the
    agreement, and the comparison of the workers. That is awaited in front of the next step's first
    contribution; by then it has long been there.

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
    course : Course
        What of the run depends on time.

    Members
    -------
    counts : Counts
        What became of guesses.
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
        course: Course,
    ) -> None:
        self.counts = Counts()
        self._optimizers = optimizers
        self._regions = regions
        self._device = device
        self._lockstep = lockstep
        self._exchange = exchange
        self._course = course
        self._timing = reducing.timing
        self._depth = options.depth
        self._is_guarded = False
        self._buckets = buckets_of(regions, options.bucket_bytes)
        self._parameters = [*trainable(model).values()]
        self._stages = Stages(regions, device, lockstep, exchange, reducing, guesses=True)
        self._tags = Tags()
        leaves = Leaves(model, trainable(model))
        judge = Judge(device, options.tau, Form(options.form))
        shared = regions, self._parameters
        self._arrivals = Arrivals(
            *(*shared, self._stages, leaves, judge, self._tags, options.clip), course=course
        )
        self._passes = Passes(
            *(model, *shared, leaves, self._arrivals, self._tags, course),
            keep_outputs=options.keep_outputs,
            idle=self.settle,
            quiet=exchange.rank != 0,
        )
        self._look()

    @property
    def last_step(self) -> StepLog | None:
        """The last step that was decided on."""
        return self._arrivals.last

    @property
    def gains(self) -> dict[str, int]:
        """Sixteenths of local gradients that enter the next guess, by region."""
        return dict(zip(self._regions.names, self._arrivals.gains, strict=True))

    @property
    def passes_redone(self) -> int:
        """Forward and backward passes that were done again."""
        return self._passes.redone

    @property
    def steps(self) -> int:
        """Steps that were committed, also before this runtime, if it goes on with their state."""
        return self._stages.clock.step + (self._arrivals.flight is not None)

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

    def step(self, closures: Sequence[Closure]) -> list[torch.Tensor]:
        """Take a step; the closures' losses.

        Raises
        ------
        Exception
            Whatever stops this worker; a ``WorkerFailedError`` with its text on the others.
        """
        self._lockstep.post(lambda: self._stages.standing(0))
        self._arrivals.await_from_now()
        self._tags.guesses = {}
        departure, redone = self._departure(), self.passes_redone
        with self._given_up(departure):
            computed = self._passes.compute(closures, departure)
            self._commit(computed, departure, self.passes_redone - redone)
        if not self._depth:
            self.settle()
        return computed.losses

    def settle(self) -> None:
        """Wait for the update in flight: the model's parameters are up to date then."""
        if self._arrivals.flight is not None:
            with self.told():
                self._arrivals.await_from_now()
                self._arrivals.finish()

    @contextmanager
    def told(self) -> Iterator[None]:
        """Tell the others of an error that is raised inside, where they do not expect one.

        They have been told already that this worker can go on. So it takes part in the next step,
        as one that has failed in it.
        """
        if self._is_guarded:
            yield
        elif self._lockstep.has_posted:
            with self._given_up(self._departure()):
                yield
        else:
            with self._lockstep.told():
                yield

    def state_dict(self) -> dict[str, Any]:
        """State of the stages and the device, after the update in flight."""
        self.settle()
        return self._stages.state_dict()

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore what :meth:`state_dict` gave."""
        self.settle()
        self._stages.load_state_dict(state)
        self._look()

    def end(self) -> None:
        """Wait for the update in flight; no step comes any more."""
        self.settle()
        self._course.end(lambda: sha256_of(self._regions.parameters()))

    def close(self) -> None:
        """Let go of the model."""
        self._passes.close()
        self._lockstep.end()

    def _look(self) -> None:
        """Take over what the device's records say, and how this worker stands."""
        records = self._device.read_regions(0, len(self._regions))
        is_global = [record["state"] == SpeculationState.GLOBAL for record in records]
        rows = zip(records, is_global, strict=True)
        self._arrivals.gains = [0 if waits else record["gain"] for record, waits in rows]
        self._begin_course()

    def _begin_course(self) -> None:
        """Say how this worker stands."""
        device = self._device.state_dict()
        buckets = [[self._regions[r].name for r in own.regions] for own in self._buckets]
        weights = checksum_of(self._regions.parameters())
        known = device["table"], device["parameters"], weights, buckets
        with self.told():
            self._course.begin(Standing(self._stages.clock.step, *known))

    def _departure(self) -> Departure:
        return Departure(self._buckets, self._stages, self._lockstep)

    def _times(self, step: Step, redo: float) -> tuple[float, float]:
        """Seconds of stall and redo that a step tells, whose redo time was measured."""
        measured = Times(*self._timing.local(self._arrivals.missing, redo))
        anchors = self._regions.parameters()
        told = self._course.commit(step.number, measured, step.losses, lambda: checksum_of(anchors))
        return told.stall / 1e6, told.redo / 1e6

    def _commit(self, computed: Computed, departure: Departure, redone: int) -> None:
        """End the contributions of a step; from now on its update is in flight."""
        arrivals, guesses, step = self._arrivals, self._tags.guesses, departure.step
        assert step is not None
        step.losses += [float(loss) for loss in computed.losses]
        step.guesses = guesses
        step.stall, step.redo = self._times(step, computed.seconds)
        replay, gains = Replay(self._optimizers), [*arrivals.gains]
        departure.agree()
        self._lockstep.post(lambda: self._stages.standing(0))
        gradients, departed = departure.gradients, departure.departed
        arrivals.flight = Flight(step, replay, gradients, gains, departed, redone)
        for optimizer in self._optimizers:
            optimizer.__dict__["_opt_called"] = True  # schedulers ask for it
        self.counts.steps += 1
        self.counts.guessed += bool(guesses)
        self.counts.rejecting += any(not own.accepts for own in guesses.values())
        for region, own in guesses.items():
            self.counts.trials[self._regions[region].name] += own.trials
            self.counts.accepts[self._regions[region].name] += own.accepts

    @contextmanager
    def _given_up(self, departure: Departure) -> Iterator[None]:
        """Where an error is raised inside, take part in the step's collectives, and tell of it."""
        self._is_guarded = True
        try:
            yield
        except BaseException as error:
            self._arrivals.flight = None
            self._course.break_off()
            if isinstance(error, Exception) and not is_known(error):
                departure.fail(error)
                departure.agree()
                self._lockstep.tell(error)
            raise
        finally:
            self._is_guarded = False

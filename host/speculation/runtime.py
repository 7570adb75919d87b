"""The runtime of speculative training: the second front-end of the reducer's stages."""

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import nn

from adagrain.host.device.coprocessor import Coprocessor
from adagrain.host.distributed.checksum import checksum_of, sha256_of
from adagrain.host.distributed.exchange import Exchange
from adagrain.host.distributed.lockstep import Lockstep, is_known
from adagrain.host.distributed.reducer_options import ReducerOptions
from adagrain.host.distributed.stages import Stages
from adagrain.host.distributed.step import Pass, Step
from adagrain.host.distributed.step_log import StepLog
from adagrain.host.regions.regions import Regions, trainable
from adagrain.models.interface.units.region_manager import SpeculationState

from .arrivals import Arrivals
from .buckets import buckets_of
from .counts import Counts
from .course import Course, Standing, Times
from .flight import Departed, Flight
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
    step, in the same order, whatever is guessed, accepted, rejected, or late: the comparison of
    the workers, which begins with the step; then, at its commit, the buckets, and the agreement.

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
        self._lockstep.post(lambda: self._standing)
        self._arrivals.await_from_now()
        self._tags.guesses = {}
        redone = self.passes_redone
        try:
            computed = self._passes.compute(closures)
            times = self._times(computed)
        except Exception as error:
            self._arrivals.flight = None
            self._course.break_off()
            if not is_known(error):
                self._give_up(error)
            raise
        self._commit(computed, times, self.passes_redone - redone)
        if not self._depth:
            self.settle()
        return computed.losses

    def settle(self) -> None:
        """Wait for the update in flight: the model's parameters are up to date then."""
        if self._arrivals.flight is not None:
            try:
                with self._lockstep.told():
                    self._arrivals.await_from_now()
                    self._arrivals.finish()
            except BaseException:
                self._arrivals.flight = None
                self._course.break_off()
                raise

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

    def _look(self) -> None:
        """Take over what the device's records say, and how this worker stands."""
        records = self._device.read_regions(0, len(self._regions))
        is_global = [record["state"] == SpeculationState.GLOBAL for record in records]
        rows = zip(records, is_global, strict=True)
        self._arrivals.gains = [0 if waits else record["gain"] for record, waits in rows]
        self._standing = self._stages.standing(0)
        self._begin_course()

    def _begin_course(self) -> None:
        """Say how this worker stands."""
        device = self._device.state_dict()
        buckets = [[self._regions[r].name for r in own.regions] for own in self._buckets]
        weights = checksum_of(self._regions.parameters())
        known = device["table"], device["parameters"], weights, buckets
        with self._lockstep.told():
            self._course.begin(Standing(self._stages.clock.step, *known))

    def _times(self, computed: Computed) -> Times:
        """What the step that was computed tells of its times; its last chance to be another one."""
        measured = self._timing.local(self._arrivals.missing, computed.seconds)
        losses = [float(loss) for loss in computed.losses]
        anchors = self._regions.parameters()
        return self._course.commit(
            self._stages.clock.step, Times(*measured), losses, lambda: checksum_of(anchors)
        )

    def _commit(self, computed: Computed, times: Times, redone: int) -> None:
        """Contribute a step to the collectives; from now on its update is in flight."""
        arrivals, guesses = self._arrivals, self._tags.guesses
        gradients = dict(zip(self._parameters, computed.gradients, strict=True))
        stall, redo = (time / 1e6 for time in times)
        step = Step(self._stages.clock.step, stall=stall, redo=redo)
        step.losses += [float(loss) for loss in computed.losses]
        step.guesses = guesses
        replay, gains = Replay(self._optimizers), [*arrivals.gains]
        departed = self._depart(step, gradients)
        arrivals.flight = Flight(step, replay, gradients, gains, departed, redone)
        for optimizer in self._optimizers:
            optimizer.__dict__["_opt_called"] = True  # schedulers ask for it
        self.counts.steps += 1
        self.counts.guessed += bool(guesses)
        self.counts.rejecting += any(not own.accepts for own in guesses.values())
        for region, own in guesses.items():
            self.counts.trials[self._regions[region].name] += own.trials
            self.counts.accepts[self._regions[region].name] += own.accepts

    def _depart(self, step: Step, gradients: Mapping[nn.Parameter, torch.Tensor]) -> list[Departed]:
        """Compare the workers, and begin all exchanges and the agreement."""
        self._lockstep.check(lambda: self._standing)
        self._standing = self._stages.standing(0)
        departed = []
        for bucket in self._buckets:
            for parameter in bucket.parameters:
                self._stages.gather.add(step, parameter, gradients[parameter])
            pending = self._stages.gather.begin_exchange(step.current, bucket.parameters, None)
            assert pending is not None  # each region is due in every step
            departed.append(Departed(bucket, pending))
        self._stages.agree.begin(step)
        return departed

    def _give_up(self, error: Exception) -> None:
        """Take part in the step's collectives without a gradient, and tell the others why."""
        step = Step(self._stages.clock.step, current=Pass(failure=error))
        self._depart(step, {p: torch.zeros_like(p) for p in self._parameters})
        self._lockstep.tell(error)

"""The runtime of speculative training: the second front-end of the reducer's stages."""

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import nn

from adagrain.host.device.coprocessor import Coprocessor
from adagrain.host.distributed.agreement import Trials
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
from .flight import Departed, Flight
from .leaves import Leaves
from .options import SpeculationOptions
from .passes import Closure, Computed, Passes
from .replay import Replay
from .tags import Tags
from .verdict import Form, Judge

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
    ) -> None:
        self.counts = Counts()
        self._optimizers = optimizers
        self._regions = regions
        self._device = device
        self._lockstep = lockstep
        self._depth = options.depth
        self._cap = options.cap
        self._buckets = buckets_of(regions, options.bucket_bytes)
        self._parameters = [*trainable(model).values()]
        self._stages = Stages(regions, device, lockstep, exchange, reducing, guesses=True)
        self._held: dict[int, Trials] = {}
        self._tags = Tags()
        leaves = Leaves(model, trainable(model))
        judge = Judge(device, options.tau, Form(options.form))
        shared = regions, self._parameters
        self._arrivals = Arrivals(*shared, self._stages, leaves, judge, self._tags, options.clip)
        self._passes = Passes(
            *(model, *shared, leaves, self._arrivals, self._tags),
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
    def cadences(self) -> dict[str, int]:
        """Steps per update, by region, as far as has been decided."""
        return dict(zip(self._regions.names, self._stages.clock.cadences, strict=True))

    @property
    def passes_redone(self) -> int:
        """Forward and backward passes that were done again."""
        return self._passes.redone

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
        try:
            computed = self._passes.compute(closures)
        except Exception as error:
            self._arrivals.flight = None
            if not is_known(error):
                self._give_up(error)
            raise
        self._commit(computed)
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
                raise

    def state_dict(self) -> dict[str, Any]:
        """State of the stages and the device, after the update in flight."""
        self.settle()
        return self._stages.state_dict() | {"guesses": dict(self._held)}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore what :meth:`state_dict` gave."""
        self.settle()
        self._stages.load_state_dict(state)
        self._held = {region: Trials(*own) for region, own in state["guesses"].items()}
        self._look()

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

    def _commit(self, computed: Computed) -> None:
        """Contribute a step to the collectives; from now on its update is in flight."""
        arrivals, guesses = self._arrivals, self._tags.guesses
        step = Step(self._stages.clock.step, stall=arrivals.missing, redo=computed.seconds)
        step.losses += [float(loss) for loss in computed.losses]
        step.guesses = self._told(guesses)
        gradients = dict(zip(self._parameters, computed.gradients, strict=True))
        departed, cadences = self._depart(step, gradients), self._due()
        replay, mean = Replay(self._optimizers, cadences, self._cap), self._stages.accumulators.mean
        means = {
            parameter: gradients[parameter] if cadence == 1 else mean(parameter)
            for parameter, cadence in cadences.items()
        }
        arrivals.flight = Flight(step, replay, means, [*arrivals.gains], departed)
        for optimizer in self._optimizers:
            optimizer.__dict__["_opt_called"] = True  # schedulers ask for it
        self.counts.steps += 1
        self.counts.guessed += bool(guesses)
        self.counts.rejecting += any(not own.accepts for own in guesses.values())
        for region, own in guesses.items():
            self.counts.trials[self._regions[region].name] += own.trials
            self.counts.accepts[self._regions[region].name] += own.accepts

    def _told(self, guesses: Mapping[int, Trials]) -> dict[int, Trials]:
        """What became of guesses, of regions that are due; of the others when they are."""
        for region, own in guesses.items():
            held = self._held.get(region, Trials(0, 0))
            self._held[region] = Trials(*map(sum, zip(held, own, strict=True)))
        due = [region for region in self._stages.clock.due if region in self._held]
        return {region: self._held.pop(region) for region in due}

    def _due(self) -> dict[nn.Parameter, int]:
        """Parameters that are due, with the steps that they have accumulated."""
        clock, regions = self._stages.clock, self._regions
        return {
            part.parameter: clock.cadences[region]
            for region in clock.due
            for part in regions[region].slices
        }

    def _depart(self, step: Step, gradients: Mapping[nn.Parameter, torch.Tensor]) -> list[Departed]:
        """Compare the workers, and begin all exchanges and the agreement.

        Raises
        ------
        Exception
            Why this worker could not do its part. The others learn it from the agreement.
        """
        self._lockstep.check(lambda: self._standing)
        self._standing = self._stages.standing(0)
        departed = []
        for bucket in self._buckets:
            for parameter in bucket.parameters:
                self._stages.gather.add(step, parameter, gradients[parameter])
            pending = self._stages.gather.begin_exchange(step.current, bucket.parameters, None)
            if pending is not None:
                due = [region for region in bucket.regions if self._stages.clock.is_due(region)]
                departed.append(Departed(due, pending))
        self._stages.agree.begin(step)
        if step.current.failure is not None:
            self._lockstep.tell(step.current.failure)
        return departed

    def _give_up(self, error: Exception) -> None:
        """Take part in the step's collectives without a gradient, and tell the others why."""
        step = Step(self._stages.clock.step, current=Pass(failure=error))
        self._depart(step, {p: torch.zeros_like(p) for p in self._parameters})

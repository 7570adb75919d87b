"""The reducer: gathers due regions' gradients, exchanges them, and lets the device decide."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from adagrain.host.device.coprocessor import Coprocessor
from adagrain.host.regions.regions import Regions

from .bundle import Bundle
from .exchange import Exchange
from .lockstep import Lockstep
from .reducer_options import ReducerOptions
from .stages import Stages
from .step import Pass, Step
from .step_log import StepLog

__all__ = ["RegionReducer", "StepLog"]


class RegionReducer:
    """Averages gradients over the workers, each region at its cadence.

    In step t, region r with cadence c is *due* where c divides t + 1. Every step adds each
    region's gradient to its accumulator on this worker; of a due region, the mean over its c
    steps is exchanged and averaged, the others stay local. The device takes the energies of what
    entered and of what came out, summed over the workers as int64, and decides; in
    the last step of a decision epoch, in which every region is due, the new cadences take effect.
    All workers decide alike, because they decide from the same integers; a checksum of the
    decisions is compared in front of the next exchange.

    It keys on parameters and their row blocks, never on a transport's buckets. Parameters in no
    region are averaged in every backward pass, as DDP does. Front-ends call, for each backward
    pass, :meth:`begin_pass`, then :meth:`add` for each gradient and :meth:`begin_exchange` as
    often as they like, :meth:`end_pass`, and :meth:`write_back` for each gradient; then
    :meth:`decide` once per step. Steps may have several passes: only their sum counts. Where
    gradients lie together, :meth:`add_together` and :meth:`averages_together` do the same faster.

    A region in which any worker's gradient is not finite is not updated in that period, on any
    worker; it is counted, logged, and its accumulators start anew.

    Its stages, in their order, are objects of their own, which :class:`Stages` joins.

    Parameters
    ----------
    regions : Regions
        At most as many as the device's table holds.
    device : Coprocessor
        This worker's device.
    lockstep : Lockstep
        Compares the workers.
    exchange : Exchange
        Averages over them.
    options : ReducerOptions
        Cadences, decision epochs, who decides.

    Raises
    ------
    ValueError
        If a cadence is no power of two, or does not divide the decision epoch, or there are
        too many regions.
    TypeError
        If the device has no statistics of a region's type.
    """

    def __init__(
        self,
        regions: Regions,
        device: Coprocessor,
        lockstep: Lockstep,
        exchange: Exchange,
        options: ReducerOptions,
    ) -> None:
        self.regions = regions
        self.device = device
        self._lockstep = lockstep
        self._exchange = exchange
        self._stages = stages = Stages(regions, device, lockstep, exchange, options)
        self._clock = stages.clock
        self._accumulators = stages.accumulators
        self._gather = stages.gather
        self._agree = stages.agree
        self._step = Step(0)
        self._is_under_way = False

    @property
    def step(self) -> int:
        """Steps that were taken."""
        return self._clock.step

    @property
    def passes(self) -> int:
        """Backward passes since the last step."""
        return self._step.passes

    @property
    def due(self) -> dict[int, int]:
        """Regions that the step will update → steps that they have accumulated."""
        return self._step.due

    @property
    def cadences(self) -> dict[str, int]:
        """Steps per update, by region, for the next step."""
        return dict(zip(self.regions.names, self._clock.cadences, strict=True))

    @property
    def dropped(self) -> int:
        """Updates that were dropped, because a gradient was not finite."""
        return self._stages.decide.dropped

    @property
    def bytes_sent(self) -> int:
        """Bytes of gradients that this worker has put into collectives."""
        return self._exchange.bytes_sent

    @property
    def bytes_dense(self) -> int:
        """Bytes of all gradients that were added: what a dense exchange would have sent."""
        return self._gather.bytes_dense

    def exchanges_anew(self, region: int) -> bool:
        """True if what a region's gradients hold before a pass is exchanged with the pass's own."""
        return self._clock.cadences[region] == 1

    def report_loss(self, loss: torch.Tensor | float) -> None:
        """Say what a backward pass's loss is, on this worker; a step has the mean of its passes."""
        self._step.losses.append(self._stages.losses.checked(loss))

    def standing(self) -> dict[str, int]:
        """Values that must be equal on all workers in front of a backward pass."""
        return self._stages.standing(self.passes)

    def begin_pass(self) -> None:
        """Begin a backward pass, in step with the other workers.

        Raises
        ------
        DisagreementError, WorkerFailedError, WorkerLostError
            If the workers cannot go on together.
        """
        self._lockstep.check(self.standing)
        self._is_under_way = True
        self._step.current = Pass()

    def check_pass(self) -> None:
        """See to it that a backward pass may be exchanged, behind others of its step.

        Raises
        ------
        RuntimeError
            If the exchange would take what came back of them for new gradients.
        """
        if self.passes and self._exchange.once:
            raise RuntimeError(self._exchange.once)

    def fail(self, error: Exception) -> None:
        """Say that this worker cannot end the pass that has begun; :meth:`end_pass` tells all."""
        self._step.current.fail(error)

    def add(self, parameter: torch.Tensor, gradient: torch.Tensor) -> None:
        """Add a parameter's gradient of this pass to its regions' accumulators."""
        self._gather.add(self._step, parameter, gradient)

    def add_together(
        self,
        parameters: Sequence[torch.Tensor],
        gradients: Callable[[], Sequence[torch.Tensor]],
        flat: torch.Tensor,
    ) -> Bundle | None:
        """As :meth:`add` for each; at once, where they may be exchanged as they lie.

        Parameters
        ----------
        parameters : sequence of Tensor
            The parameters.
        gradients : callable
            Gives their gradients.
        flat : Tensor
            Memory that these lie in, one after the other.

        Returns
        -------
        Bundle or None
            For :meth:`begin_exchange` and :meth:`averages_together`; ``None`` where each has to
            be exchanged, and written back, by itself.
        """
        return self._gather.add_together(self._step, parameters, gradients, flat)

    def begin_exchange(
        self,
        parameters: Sequence[torch.Tensor],
        bundle: Bundle | None = None,
    ) -> None:
        """Start to average the due parts of parameters whose gradients were added, at once.

        Parameters
        ----------
        parameters : sequence of Tensor
            The parameters.
        bundle : Bundle or None
            What :meth:`add_together` returned.
        """
        self._gather.begin_exchange(self._step.current, parameters, bundle)

    def end_pass(self) -> None:
        """End the backward pass: agree, and wait for the exchange. :attr:`due` says what is due.

        Raises
        ------
        RuntimeError
            If a parameter's gradient was not added.
        WorkerFailedError, WorkerLostError
            If the workers cannot go on together.
        """
        self._agree.agree(self._step)
        self._is_under_way = False

    def write_back(self, parameter: torch.Tensor, gradient: torch.Tensor) -> None:
        """Write the averages of the parameter's due parts into its gradient, zeros elsewhere."""
        self._accumulators.write_back(parameter, gradient, self.due)

    def averages_together(self, bundle: Bundle) -> torch.Tensor:
        """Values that :meth:`write_back` would write into a bundle's gradients, as they lie."""
        return bundle.averages(self.due.keys())

    def restore(self) -> None:
        """Give parameters what is to be applied, where DDP may not have done so.

        DDP leaves parameters alone that no worker has used in a pass, their accumulated gradients
        with them.
        """
        self._gather.restore(self._step, self.regions.parameters())

    def decide(self) -> StepLog:
        """End the step after its last backward pass, and have the device decide."""
        step = self._step
        self._is_under_way = True
        log = self._stages.end(step)
        self._step = Step(self.step, stall=step.stall - step.told)
        self._stages.commit.tell(log)
        self._is_under_way = False
        return log

    def state_dict(self) -> dict[str, Any]:
        """Everything that a resumed run needs, of this worker and its device.

        Raises
        ------
        RuntimeError
            If a backward pass was exchanged since the last step, or one of both has failed: its
            gradients are not saved.
        """
        if self._is_under_way:
            raise RuntimeError(
                "state must be taken where no backward pass and no step has failed, but one has: "
                "go on from the state of an earlier step"
            )
        if self.passes:
            raise RuntimeError(
                "state must be taken after optimizer.step(), not between the backward pass and it"
            )
        return self._stages.state_dict()

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore what :meth:`state_dict` gave; a step in mid-period goes on bit for bit.

        Raises
        ------
        TypeError, ValueError
            If it is no such state, of other regions, other workers, or another exchange.
        """
        self._stages.load_state_dict(state)
        self._step = Step(self.step)
        self._is_under_way = False

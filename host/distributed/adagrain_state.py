"""State of DDP's communication hook: what the reducer needs of a model and its optimizers."""

from collections.abc import Mapping, Sequence
from typing import Any, cast
from weakref import finalize, proxy, ref

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

from adagrain.host.device.coprocessor import Coprocessor
from adagrain.host.device.open_device import for_training
from adagrain.host.regions.regions import By, Regions, regions
from adagrain.models.interface.configuration import Configuration

from .before_forward import BeforeForward
from .buckets import Buckets
from .cadence import optimizers_of
from .check_model import check_model
from .chosen_exchange import (
    Compression,
    check_momentum,
    chosen_exchange,
    common_compression,
    compression_options,
)
from .common import common_values
from .exchange import Exchange
from .guard import Guard
from .lockstep import Lockstep
from .reducer import RegionReducer, StepLog
from .reducer_options import ReducerOptions
from .reported_loss import reported_loss
from .state import check_optimizers, check_parts
from .steps import Steps
from .uncopied import Uncopied
from .watch import Watch

__all__ = ["AdagrainState", "Optimizers"]

#: One or several.
Optimizers = torch.optim.Optimizer | Sequence[torch.optim.Optimizer]


class AdagrainState(Uncopied):
    """State of :func:`adagrain.adagrain_hook`, a communication hook for DDP.

    ::

        state = AdagrainState(ddp_model, optimizer, device="sim:")
        ddp_model.register_comm_hook(state, adagrain_hook)

    The optimizer stays the user's own; hooks on it make its steps update the regions that are due.

    Parameters
    ----------
    model, optimizer, device, preset, by, cap, compression, options
        As those of :func:`adagrain.register`.

    Members
    -------
    optimizer : torch.optim.Optimizer
        The one that was given, or the first of them.
    reducer : RegionReducer
        Cadences, counters, state.
    exchange : Exchange
        What averages gradients over the workers.
    device : Coprocessor
        This worker's device.
    last_step : StepLog
        What was agreed on and decided in the last step.
    """

    exchange: Exchange
    last_step: StepLog

    def __init__(
        self,
        model: DistributedDataParallel,
        optimizer: Optimizers,
        device: str | Coprocessor = "golden:",
        *,
        preset: str | Configuration = "full",
        by: By = "module",
        cap: float = 0.2,
        compression: Compression = None,
        **options: Any,
    ) -> None:
        check_model(model)
        self._model = cast(DistributedDataParallel, proxy(model))  # which has this in its hook
        self._wrapper = ref(model)
        self._closes: list[Any] = []
        self._has_stepped = self._rebuilt = False
        self._lockstep = Lockstep(model.process_group, meets=True)
        self._closes.append(self._lockstep)
        common: dict[str, Any] = {}
        error: Exception | None = None
        try:
            self._optimizers = optimizers = optimizers_of(optimizer)
            self.optimizer = optimizers[0]
            chosen, compressing = ReducerOptions.of(options), compression_options(compression)
            divided = regions(model, by)
            check_momentum(compressing, optimizers, divided)
            self._open(device, preset)
            self.exchange = chosen_exchange(
                *(model, model.process_group, divided, self._lockstep, compressing, self.device),
                in_groups=True,
                idle_waits=model.find_unused_parameters,
            )
            self._closes.append(self.exchange)
            self._begin(divided, chosen, cap)
            common = common_values(divided, optimizers, self.device.configuration)
            common |= {**chosen.common(), "cap": cap, **common_compression(compressing)}
        except Exception as failure:
            error = failure
        try:
            self._lockstep.begin(common, error)
        except BaseException:
            self.close()
            raise

    @property
    def steps(self) -> int:
        """Steps that were taken."""
        return self.reducer.step

    @property
    def cadences(self) -> dict[str, int]:
        """Steps per update, by region, for the next step."""
        return self.reducer.cadences

    @property
    def bytes_sent(self) -> int:
        """Bytes of gradients that this worker has put into collectives."""
        return self.reducer.bytes_sent

    @property
    def bytes_dense(self) -> int:
        """Bytes of all gradients that were added: what a dense exchange would have sent."""
        return self.reducer.bytes_dense

    @property
    def dropped(self) -> int:
        """Updates that were dropped, because a gradient was not finite."""
        return self.reducer.dropped

    def loss(self, loss: torch.Tensor) -> torch.Tensor:
        """Report a loss before its backward pass; returned as it is. Optional.

        Without it convergence rates read 0, and the loss guard of the cadences rests. A negative
        one counts there as 0, one from 65536 on as that; the first of them is warned of.

        Raises
        ------
        TypeError, ValueError
            If it is no tensor of real numbers, or not of one element.
        """
        self.reducer.report_loss(reported_loss(loss))
        return loss

    def state_dict(self) -> dict[str, Any]:
        """State of reducer, device and optimizers, of this worker.

        Raises
        ------
        RuntimeError
            If it is not between two steps, or one has failed, or a backward pass.
        """
        reducer = self.reducer.state_dict()
        self._steps.check_ended()
        return {
            "reducer": reducer,
            "optimizers": [optimizer.state_dict() for optimizer in self._optimizers],
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore what :meth:`state_dict` gave; backward passes without a step are forgotten.

        Raises
        ------
        TypeError, ValueError
            If it is no such state, or does not fit; then nothing has changed.
        """
        check_parts(state, "reducer", "optimizers")
        check_optimizers(state["optimizers"], self._optimizers)
        self.reducer.load_state_dict(state["reducer"])
        self._steps.forget()
        for optimizer, saved in zip(self._optimizers, state["optimizers"], strict=True):
            optimizer.load_state_dict(saved)

    def close(self) -> None:
        """Let go of device and optimizers; the model cannot be trained on with this hook."""
        for part in reversed(self._closes):
            part.close()
        self._closes = []

    def take(self, bucket: dist.GradBucket) -> torch.futures.Future[torch.Tensor]:
        """Take a bucket; after the last one, end the pass and answer for all of them."""
        if not self._closes:
            raise RuntimeError(
                "the model must not be trained on after close() of its adagrain state"
            )
        return self._buckets.take(bucket)

    def _open(self, device: str | Coprocessor, preset: str | Configuration) -> None:
        self.device = for_training(device, preset)
        self._closes.append(self.device)

    def _begin(self, divided: Regions, options: ReducerOptions, cap: float) -> None:
        self.reducer = RegionReducer(divided, self.device, self._lockstep, self.exchange, options)
        watched = [region.slices[0].parameter for region in divided]
        self._watch = Watch(watched, self.reducer.exchanges_anew)
        self._closes.append(self._watch)
        guard = Guard(self._lockstep, self.reducer)
        self._steps = Steps(
            self._optimizers,
            self._model.module,
            divided,
            wrapper=self._wrapper,
            cap=cap,
            told=guard.told,
            watch=self._watch,
            decide=self._decide,
        )
        self._closes.append(self._steps)
        if (wrapper := self._wrapper()) is not None:  # whose optimizers another one may have then
            finalize(wrapper, self._steps.close).atexit = False
        self._buckets = Buckets(self._model, self.reducer, self._steps, self._watch, guard)
        hook = self._model.register_forward_pre_hook(BeforeForward(self._before_forward))
        self._closes.append(_Hook(hook))

    def _before_forward(self, training: bool) -> None:
        """Tell the others early how this worker stands, so that nobody waits in backward.

        Compare at once where DDP is about to use a collective of its own: to broadcast buffers, or
        to rebuild its buckets, which it does in the first forward pass behind a step, be it one of
        an evaluation. Behind a backward pass nothing is told: it may be a forward pass that only
        this worker makes before its step.
        """
        if not (torch.is_grad_enabled() and self._model.require_backward_grad_sync):
            return
        begun = self._has_stepped
        broadcasts = training and self._model.will_sync_module_buffers()
        if broadcasts or (not self._rebuilt and (training or begun)):
            self._lockstep.look(self.reducer.standing)
            self._rebuilt = begun
        elif training and not self.reducer.passes:
            self._lockstep.post(self.reducer.standing)

    def _decide(self) -> Mapping[int, int]:
        due = self.reducer.due
        self.last_step = self.reducer.decide()
        self._has_stepped = True  # here: DDP knows nothing of steps before a resumed run's
        return due


class _Hook:
    """A hook that is removed when it is closed."""

    def __init__(self, handle: Any) -> None:
        self.close = handle.remove

"""Three lines for anyone's script: the reducer behind DDP's communication hook."""

from collections.abc import Mapping
from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from .cadence import CadenceOptimizer
from .driver import Coprocessor, open_device
from .failover import Failover
from .reducer import RegionReducer, StepLog
from .regions import By, regions

__all__ = ["Handle", "register"]


class Handle:
    """What :func:`register` returns.

    Members
    -------
    optimizer : CadenceOptimizer
        To be used in place of the optimizer that was given.
    reducer : RegionReducer
        Cadences, counters, state.
    device : Failover
        This worker's device.
    last_step : StepLog
        What was agreed on and decided in the last backward pass.
    """

    last_step: StepLog

    def __init__(
        self, model: DistributedDataParallel, optimizer: CadenceOptimizer, reducer: RegionReducer
    ) -> None:
        self.optimizer = optimizer
        self.reducer = reducer
        self.device = reducer.device
        self._model = model
        self._waiting: list[tuple[dist.GradBucket, torch.futures.Future[torch.Tensor]]] = []

    def loss(self, loss: torch.Tensor) -> torch.Tensor:
        """Report this step's loss before its backward pass; returned as it is. Optional.

        Without it convergence rates read 0, and the loss guard of the cadences rests.
        """
        self.reducer.report_loss(loss.detach())
        return loss

    def state_dict(self) -> dict[str, Any]:
        """State of reducer, device and optimizer, of this worker."""
        return {
            "reducer": self.reducer.state_dict(),
            "optimizer": self.optimizer.state_dict(),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore what :meth:`state_dict` gave."""
        self.reducer.load_state_dict(state["reducer"])
        self.optimizer.load_state_dict(state["optimizer"])

    def close(self) -> None:
        """Let go of the device."""
        self.device.close()

    def hook(self, bucket: dist.GradBucket) -> torch.futures.Future[torch.Tensor]:
        """Take a bucket; after the last one, end the step and answer for all of them."""
        if self._model._join_config.enable:
            raise NotImplementedError(
                "DistributedDataParallel.join does not work with adagrain: a worker without data "
                "has no gradients to decide from; give all workers as many batches"
            )
        parameters = bucket.parameters()
        for parameter, gradient in zip(parameters, bucket.gradients(), strict=True):
            self.reducer.add(parameter, gradient)
        self.reducer.begin_exchange(parameters)
        future: torch.futures.Future[torch.Tensor] = torch.futures.Future()
        self._waiting.append((bucket, future))
        if bucket.is_last():
            self._finish()
        return future

    def _finish(self) -> None:
        waiting, self._waiting = self._waiting, []
        self.last_step = self.reducer.finish()
        self.optimizer.set_due(self.reducer.due)
        for bucket, future in waiting:
            for parameter, gradient in zip(bucket.parameters(), bucket.gradients(), strict=True):
                self.reducer.write_back(parameter, gradient)
            future.set_result(bucket.buffer())


def register(
    model: DistributedDataParallel,
    optimizer: torch.optim.Optimizer,
    device: str | Coprocessor = "golden:",
    *,
    preset: str = "full",
    by: By = "module",
    cap: float = 0.2,
    **options: Any,
) -> Handle:
    """Let a coprocessor decide when each region of a DDP model is exchanged and updated.

    ::

        handle = adagrain.register(ddp_model, optimizer, device="sim:")
        optimizer = handle.optimizer
        ...
        handle.loss(loss).backward()

    Works with ``set_to_none``, ``foreach`` and ``fused`` optimizers, tied parameters, unused ones
    (``find_unused_parameters``), ``static_graph``, ``no_sync``, ``gradient_as_bucket_view``, and
    modules that were compiled before they were wrapped.

    Parameters
    ----------
    model : DistributedDataParallel
        The wrapped model; it must not have a communication hook yet.
    optimizer : torch.optim.Optimizer
        Its optimizer.
    device : str or Coprocessor
        This worker's device or its url. When it fails the golden model takes over.
    preset : str
        What the device was built with, where it is given by url.
    by : str or callable
        How parameters are divided, as in :func:`adagrain.regions`.
    cap : float
        Highest learning rate that a cadence above 1 may reach.
    options
        Those of :class:`RegionReducer`.

    Raises
    ------
    TypeError
        If the model is not a ``DistributedDataParallel``; what it is, is named.
    """
    _check(model)
    divided = regions(model, by)
    opened = open_device(device, preset) if isinstance(device, str) else device
    reducer = RegionReducer(divided, Failover(opened), group=model.process_group, **options)
    handle = Handle(model, CadenceOptimizer(optimizer, divided, cap=cap), reducer)
    model.register_comm_hook(handle, _hook)
    return handle


def _hook(handle: Handle, bucket: dist.GradBucket) -> torch.futures.Future[torch.Tensor]:
    return handle.hook(bucket)


def _check(model: nn.Module) -> None:
    if isinstance(model, DistributedDataParallel):
        return
    kind = type(model).__name__
    if any(base.__name__ == "FSDPModule" for base in type(model).__mro__):
        raise TypeError(
            "FSDP2 (fully_shard) does not work with adagrain yet: each worker holds a part of "
            "every parameter only; wrap the model in DistributedDataParallel"
        )
    if kind == "OptimizedModule":
        raise TypeError(
            "torch.compile must be inside DistributedDataParallel, not around it: "
            "DistributedDataParallel(torch.compile(model))"
        )
    raise TypeError(f"model must be a DistributedDataParallel, not {kind}")

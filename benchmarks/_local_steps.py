"""Schemes that train with steps of each worker's own, and meet once in a period."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.algorithms.ddp_comm_hooks.post_localSGD_hook import (
    PostLocalSGDState,
    post_localSGD_hook,
)
from torch.distributed.algorithms.model_averaging.averagers import PeriodicModelAverager
from torch.distributed.optim import PostLocalSGDOptimizer
from torch.nn.parallel import DistributedDataParallel

__all__ = ["DiLoCo", "LocalSteps", "PostLocalSGD", "average_weights", "in_their_mean"]

#: Steps in front of local ones: the fewest that PyTorch's hook can.
BEGIN = 1


def average_weights(
    model: DistributedDataParallel, optimizer: torch.optim.Optimizer, period: int
) -> torch.optim.Optimizer:
    """PyTorch's local SGD: have weights averaged once in a period, and not gradients.

    Parameters
    ----------
    model : DistributedDataParallel
        The network.
    optimizer : torch.optim.Optimizer
        Its optimizer.
    period : int
        Steps from one average to the next.

    Returns
    -------
    torch.optim.Optimizer
        The optimizer to be used.
    """
    state = PostLocalSGDState(None, None, BEGIN, post_local_gradient_allreduce=False)
    model.register_comm_hook(state, post_localSGD_hook)
    averager = PeriodicModelAverager(period=period, warmup_steps=BEGIN)
    return PostLocalSGDOptimizer(optimizer, averager)


@contextmanager
def in_their_mean(network: nn.Module) -> Iterator[None]:
    """Have the workers' networks their mean for a while: that is what local steps train."""
    own = [*network.parameters()]
    kept = [parameter.detach().clone() for parameter in own]
    with torch.no_grad():
        for parameter in own:
            dist.all_reduce(parameter)
            parameter /= dist.get_world_size()
    yield
    with torch.no_grad():
        for parameter, before in zip(own, kept, strict=True):
            parameter.copy_(before)


class LocalSteps:
    """A step for one closure; what both schemes have in common.

    Parameters
    ----------
    optimizer : torch.optim.Optimizer
        Takes steps of this worker's own.
    period : int
        Steps from one meeting of the workers to the next.
    """

    def __init__(self, optimizer: torch.optim.Optimizer, period: int) -> None:
        self._optimizer = optimizer
        self.period = period

    def step(self, closure: Callable[[], torch.Tensor]) -> torch.Tensor:
        """Forward and backward pass, and a step; the loss."""
        self._optimizer.zero_grad()
        loss = closure()
        loss.backward()
        self._optimizer.step()
        return loss.detach()


class PostLocalSGD(LocalSteps):
    """PyTorch's: the weights are averaged once in a period.

    Parameters
    ----------
    model : nn.Module
        The network; :attr:`model` is to be called in its place.
    optimizer : torch.optim.Optimizer
        Its optimizer.
    period : int
        Steps from one average to the next.
    """

    def __init__(self, model: nn.Module, optimizer: torch.optim.Optimizer, period: int) -> None:
        self.model = DistributedDataParallel(model)
        super().__init__(average_weights(self.model, optimizer, period), period)


class DiLoCo(LocalSteps):
    """As "DiLoCo: Distributed Low-Communication Training of Language Models" (2023) has it.

    Once in a period the workers average how far they have come from where they last met; an outer
    optimizer, Nesterov's momentum, takes that as its gradient.

    Parameters
    ----------
    model, optimizer, period
        As those of :class:`PostLocalSGD`.
    rate, momentum : float
        The outer optimizer's; the paper has 0.7 and 0.9 for periods of hundreds of steps.
    """

    def __init__(
        self,
        model: nn.Module,
        optimizer: torch.optim.Optimizer,
        period: int,
        rate: float,
        momentum: float,
    ) -> None:
        super().__init__(optimizer, period)
        self.model = model
        self._taken = 0
        self._own = [*model.parameters()]
        for parameter in self._own:
            dist.broadcast(parameter.detach(), 0)
        self._met = [own.detach().clone() for own in self._own]
        self._outer = torch.optim.SGD(self._met, lr=rate, momentum=momentum, nesterov=True)

    def step(self, closure: Callable[[], torch.Tensor]) -> torch.Tensor:
        """As that of :class:`LocalSteps`; the workers meet at the end of a period."""
        loss = super().step(closure)
        self._taken += 1
        if self._taken % self.period == 0:
            self._meet()
        return loss

    @torch.no_grad()
    def _meet(self) -> None:
        pairs = [*zip(self._met, self._own, strict=True)]
        moved = torch.cat([(met - own).reshape(-1) for met, own in pairs])
        dist.all_reduce(moved)
        moved /= dist.get_world_size()
        for met, part in zip(self._met, moved.split([m.numel() for m in self._met]), strict=True):
            met.grad = part.view_as(met)
        self._outer.step()
        for met, own in pairs:
            own.copy_(met)

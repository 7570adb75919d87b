"""A small convolutional network whose passes take a given time, whatever the processor does.

Workers that share a machine's cores then wait for the network, and not for each other.
"""

import time
from typing import Any

import torch
from torch import nn

__all__ = ["Padded", "convolutions"]


def convolutions() -> nn.Sequential:
    """Stages of a network of 94 thousand parameters, for the digits."""
    stages: list[nn.Module] = []
    for before, after in ((1, 32), (32, 64), (64, 128)):
        convolution = nn.Conv2d(before, after, 3, padding=1)
        layers = (convolution, nn.GroupNorm(8, after), nn.ReLU(), nn.MaxPool2d(2))
        stages.append(nn.Sequential(*layers))
    return nn.Sequential(*stages, nn.Sequential(nn.Flatten(), nn.Linear(128, 10)))


class Padded(nn.Module):
    """A network whose stages share the time of a pass equally.

    A stage that is done early sleeps until its share is over: in the forward pass before the next
    one begins, in the backward pass before its gradients are there.

    Parameters
    ----------
    stages : nn.Sequential
        The network.
    forward_ms, backward_ms : float
        Milliseconds of both passes.
    """

    def __init__(self, stages: nn.Sequential, forward_ms: float, backward_ms: float) -> None:
        super().__init__()
        self.stages = stages
        self._shares = (forward_ms / 1e3 / len(stages), backward_ms / 1e3 / len(stages))
        self._began = 0.0

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self._began = time.perf_counter()
        for number, stage in enumerate(self.stages, 1):
            x = _Pad.apply(stage(x), self, number)
        return x

    def wait_forward(self, number: int) -> None:
        """Sleep until this stage's share of the forward pass is over."""
        _sleep_until(self._began + number * self._shares[0])

    def wait_backward(self, number: int) -> None:
        """The same in the backward pass, which begins with the last stage."""
        after = len(self.stages) - number
        if not after:
            self._began = time.perf_counter()
        _sleep_until(self._began + (after + 1) * self._shares[1])


class _Pad(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, network: Padded, number: int) -> torch.Tensor:
        ctx.network, ctx.number = network, number
        network.wait_forward(number)
        return x.view_as(x)

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor, None, None]:
        ctx.network.wait_backward(ctx.number)
        return gradient, None, None


def _sleep_until(moment: float) -> None:
    time.sleep(max(0.0, moment - time.perf_counter()))

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

    A stage that is done early sleeps until its share is over: in the forward pass before it
    returns, in the backward pass before its gradients are there. A stage whose call is left out
    costs nothing.

    Parameters
    ----------
    stages : nn.Sequential
        The network.
    forward_ms, backward_ms : float
        Milliseconds of both passes.
    """

    def __init__(self, stages: nn.Sequential, forward_ms: float, backward_ms: float) -> None:
        super().__init__()
        count = len(stages)
        share, backward = forward_ms / 1e3 / count, _Backward(backward_ms / 1e3 / count)
        padded = [
            _Stage(stage, share, backward, after) for after, stage in enumerate(reversed(stages))
        ]
        self.stages = nn.Sequential(*reversed(padded))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        outputs: torch.Tensor = self.stages(x)
        return outputs


class _Backward:
    """The time of a backward pass.

    Parameters
    ----------
    share : float
        Seconds of a stage.
    """

    def __init__(self, share: float) -> None:
        self._share = share
        self._began = 0.0

    def wait(self, after: int) -> None:
        """Sleep until the share is over of a stage that has so many after it."""
        if not after:
            self._began = time.perf_counter()
        _sleep_until(self._began + (after + 1) * self._share)


class _Stage(nn.Module):
    """A stage that takes its share of both passes."""

    def __init__(self, layers: nn.Module, share: float, backward: _Backward, after: int) -> None:
        super().__init__()
        self.layers = layers
        self._share, self._backward, self._after = share, backward, after

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        began = time.perf_counter()
        outputs: torch.Tensor = _Pad.apply(self.layers(x), self._backward, self._after)
        _sleep_until(began + self._share)
        return outputs


class _Pad(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, backward: _Backward, after: int) -> torch.Tensor:
        ctx.pass_, ctx.after = backward, after
        return x.view_as(x)

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor, None, None]:
        ctx.pass_.wait(ctx.after)
        return gradient, None, None


def _sleep_until(moment: float) -> None:
    time.sleep(max(0.0, moment - time.perf_counter()))

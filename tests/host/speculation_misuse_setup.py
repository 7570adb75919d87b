"""Wrong uses of speculation, by name; see ``test_speculation_misuse.py``."""

from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as dist
from speculation_setup import begun
from torch import nn

from adagrain.host.speculation.speculate import Speculation

__all__ = ["CASES", "Branches", "Setup", "case", "fail_on_one", "on_one"]

CASES: dict[str, Callable[..., None]] = {}


def case(function: Callable[..., None]) -> Callable[..., None]:
    CASES[function.__name__] = function
    return function


def on_one() -> bool:
    return dist.get_rank() == 1


class Branches(nn.Module):
    """Two layers, of which either may be left out."""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 4)
        self.leaves_out = False

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.a(x) if self.leaves_out else self.b(self.a(x))


class Setup:
    """Speculation, and steps of it."""

    def __init__(self, rate: float = 0.1, **options: Any) -> None:
        torch.manual_seed(3)
        self.model = Branches()
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=rate)
        self.speculation: Speculation = begun(self.model, self.optimizer, **options)

    def loss(self) -> torch.Tensor:
        return self.model(torch.ones(3, 4) + dist.get_rank()).square().mean()

    def train(self, steps: int = 3) -> None:
        for _ in range(steps):
            self.speculation.step(self.loss)


def fail_on_one(setup: Setup) -> None:
    """A step whose closure raises an error on one worker."""

    def closure() -> torch.Tensor:
        if on_one():
            raise KeyError("no such thing")
        return setup.loss()

    setup.speculation.step(closure)
    setup.speculation.settle()

"""Wrong uses of ``register``, by name; see ``test_lockstep.py``."""

from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

import adagrain

__all__ = ["CASES", "Setup", "case", "rank"]

CASES: dict[str, Callable[[], None]] = {}


def case(function: Callable[[], None]) -> Callable[[], None]:
    CASES[function.__name__] = function
    return function


def rank() -> int:
    return dist.get_rank()


class Setup:
    """A registered model, and what training it takes."""

    def __init__(self, network: nn.Module | None = None, ddp: Any = None, **options: Any) -> None:
        torch.manual_seed(3)
        network = network or nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 2))
        self.model = DistributedDataParallel(network, **(ddp or {}))
        make = options.pop("make", lambda parameters: torch.optim.SGD(parameters, lr=0.1))
        self.optimizer = make(self.model.parameters())
        cadence = options.pop("c", 1)
        names = adagrain.regions(self.model, options.get("by", "module")).names
        options = {"cadence": None, "preset": "tiny", "compare_weights": 2} | options
        options.setdefault("cadences", dict.fromkeys(names, cadence))
        self.state = adagrain.register(self.model, self.optimizer, **options)

    def loss(self) -> torch.Tensor:
        return self.model(torch.ones(3, 4) + rank()).square().mean()

    def backward(self) -> None:
        self.loss().backward()

    def train(self, steps: int = 3) -> None:
        for _ in range(steps):
            self.optimizer.zero_grad()
            self.backward()
            self.optimizer.step()

"""Speculation whose updates arrive after so many looks at them, so that runs can be repeated."""

import random
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import nn

import adagrain
from adagrain.host.distributed import agreement
from adagrain.host.distributed.exchange import Exchange, Pending
from adagrain.host.distributed.timing import Timing
from adagrain.host.speculation import beginning
from adagrain.host.speculation.speculate import Speculation
from adagrain.models.interface.units.region_manager import SpeculationPolicy

__all__ = ["REALLY_ARRIVED", "Residual", "begun", "buckets_of", "plain", "reject", "several", "sgd"]

ALWAYS, FIXED = SpeculationPolicy.ALWAYS, Timing.parse("fixed")

#: Whether an agreement has arrived, where that is to depend on time.
REALLY_ARRIVED = agreement.Agreeing.arrived

agreement.Agreeing.arrived = lambda _: True  # type: ignore[method-assign]

beginning._IN_FRAMES = 1  # regions arrive apart, all the same


def late(exchange: Exchange, looks: Callable[[], int]) -> Exchange:
    """Have averages not be there until somebody has looked for them so often.

    Parameters
    ----------
    exchange : Exchange
        What averages.
    looks : callable
        Gives, for each bucket, how often.
    """
    real = exchange.begin

    def begin(*arguments: Any) -> Pending:
        pending, left = real(*arguments), [looks()]

        class Waiting:
            def arrived(self) -> bool:
                left[0] -= 1
                return left[0] < 0

            def wait(self) -> None:
                pending.wait()

        return Waiting()

    exchange.begin = begin  # type: ignore[method-assign]
    return exchange


def buckets_of(compression: Mapping[str, Any] | None, size: int | None) -> int | None:
    """Bytes of buckets, where gradients go in some; frames have all of them."""
    return None if compression is not None and compression.get("bypass") == "never" else size


def begun(
    model: nn.Module,
    optimizer: Any,
    *,
    looks: Callable[[], int] = lambda: 10**9,
    **options: Any,
) -> Speculation:
    """Speculation of each region, which it never leaves, with updates that arrive late."""
    real = beginning.chosen_exchange
    beginning.chosen_exchange = lambda *own, **named: late(real(*own, **named), looks)
    bucket_bytes = buckets_of(options.get("compression"), 1)
    chosen = {"policy": ALWAYS, "timing": FIXED, "bucket_bytes": bucket_bytes} | options
    try:
        return adagrain.speculate(model, optimizer, **chosen)
    finally:
        beginning.chosen_exchange = real


def reject(speculation: Speculation, *regions: int) -> None:
    """Have guesses of regions be rejected, by their numbers."""
    tags = speculation._runtime._tags  # type: ignore[union-attr]
    real = tags.resolve
    tags.resolve = lambda region, accepted, **last: real(  # type: ignore[method-assign]
        region, accepted=region not in regions, **last
    )


def sgd(model: nn.Module) -> torch.optim.Optimizer:
    return torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)


def several(most: int, seed: int) -> Callable[[], int]:
    """Looks from 1 to so many, at random."""
    chosen = random.Random(seed)
    return lambda: chosen.randint(1, most)


def plain() -> nn.Module:
    """Modules that follow each other."""
    return nn.Sequential(
        nn.Linear(12, 16),
        nn.BatchNorm1d(16),
        nn.ReLU(inplace=True),
        nn.Dropout(0.2),
        nn.Linear(16, 16),
        nn.GELU(),
        nn.Linear(16, 4),
    )


class Residual(nn.Module):
    """Branches, functions between modules, a weight that is used without its module."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(12, 16)
        self.norm = nn.BatchNorm1d(16)
        self.one, self.two = nn.Linear(16, 16), nn.Linear(16, 16)
        self.last = nn.Linear(16, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = nn.functional.dropout(self.norm(self.first(x)), 0.2, self.training)
        x = x + torch.tanh(self.one(x))
        x = x + torch.tanh(self.two(x))
        return nn.functional.linear(x, self.last.weight, self.last.bias)

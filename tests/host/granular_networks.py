"""Small granular networks for tests."""

from collections import OrderedDict

import torch
from torch import nn

from adagrain.host.granular import Granularity
from adagrain.models.interface.precision import Precision

__all__ = ["network", "step"]


def network(width: int = 8) -> nn.Sequential:
    torch.manual_seed(0)
    layers = {"one": nn.Linear(12, width), "relu": nn.ReLU(), "two": nn.Linear(width, 5)}
    return nn.Sequential(OrderedDict(layers))


def step(model: nn.Module, granularity: Granularity, x: torch.Tensor) -> list[Precision]:
    """A training step without learning; the precisions after it."""
    (model(x).square().mean() + granularity.penalty()).backward()
    granularity.step()
    return list(granularity.precisions().values())

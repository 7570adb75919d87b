"""Values that all workers must begin with alike, by their names in messages."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import torch

from adagrain.host.regions.regions import Regions
from adagrain.models.interface.configuration import Configuration

__all__ = ["common_values"]


def common_values(
    divided: Regions, optimizers: Sequence[torch.optim.Optimizer], built: Configuration
) -> dict[str, Any]:
    """Regions, options of the optimizers' groups, and what the device was built with."""
    shape = {f"region {r}": (own.name, own.numel) for r, own in enumerate(divided)}
    several = len(optimizers) > 1
    rates = {
        f"{name} of group {place} of {type(own).__name__}{f' {n}' if several else ''}": plain
        for n, own in enumerate(optimizers)
        for place, group in enumerate(own.param_groups)
        for name, value in group.items()
        if isinstance(plain := _plain(value), int | float | str | tuple | None)
    }
    device = {f"{name} of the device": value for name, value in asdict(built).items()}
    return {"number of regions": len(divided), **shape, **rates, **device}


def _plain(value: object) -> object:
    """Value that compares alike on all workers, where there is one: rates may be in tensors."""
    if isinstance(value, torch.Tensor) and value.numel() == 1:
        return value.item()
    return tuple(map(_plain, value)) if isinstance(value, list | tuple) else value

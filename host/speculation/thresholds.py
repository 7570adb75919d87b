"""Thresholds of the policy ``cost_aware`` that suit optimizers and the error that is accepted."""

from collections.abc import Sequence
from dataclasses import replace

import torch

from adagrain.host.distributed.reducer_options import ReducerOptions
from adagrain.models.region_manager.settings import speculation_thresholds

__all__ = ["momentum_of", "with_thresholds"]


def with_thresholds(
    options: ReducerOptions, worth: float, optimizers: Sequence[torch.optim.Optimizer]
) -> ReducerOptions:
    """The same options with thresholds for guesses; those that are given stay.

    Parameters
    ----------
    options : ReducerOptions
        Those of a run.
    worth : float
        Largest error of a guess that is worth it.
    optimizers : sequence of torch.optim.Optimizer
        What makes guesses.
    """
    thresholds = speculation_thresholds(worth, momentum_of(optimizers))
    return replace(options, parameters={**thresholds, **options.parameters})


def momentum_of(optimizers: Sequence[torch.optim.Optimizer]) -> float:
    """The least momentum of all groups of parameters: that of their first moments, or 0."""
    groups = (group for own in optimizers for group in own.param_groups)
    found = (float(group.get("momentum", group.get("betas", (0.0,))[0])) for group in groups)
    return min(max(0.0, own) for own in found)

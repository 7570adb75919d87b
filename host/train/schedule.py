"""Learning rates, and what precision costs, over a run."""

import math

import torch
from torch.optim.lr_scheduler import LambdaLR

__all__ = ["remaining", "schedule"]


def schedule(optimizer: torch.optim.Optimizer, *, steps: int, warmup: int) -> LambdaLR:
    """Linear warm-up over ``warmup`` steps, then half a cosine down to zero at ``steps``.

    Groups of parameters that are marked ``steady`` keep their rate.
    """

    def factor(step: int) -> float:
        if step < warmup:
            return (step + 1) / warmup
        return 0.5 * (1 + math.cos(math.pi * (step - warmup) / max(1, steps - warmup)))

    steady = [group.get("steady", False) for group in optimizer.param_groups]
    return LambdaLR(optimizer, [_constant if kept else factor for kept in steady])


def remaining(step: int, steps: int) -> float:
    """Part of the granularity penalty that still counts: it falls to zero with the run.

    Low precision costs least while the weights still change much.
    """
    return max(0.0, 1 - step / steps)


def _constant(step: int) -> float:
    return 1.0

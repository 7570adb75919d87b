"""Learning rates, and what precision costs, over a run."""

import math
from typing import Any

import torch
from torch.optim.lr_scheduler import LambdaLR

__all__ = ["remaining", "restore", "schedule"]


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


def restore(schedule: LambdaLR, state: dict[str, Any]) -> None:
    """Restore a schedule, and have it set the rates of its step, for which another was as long."""
    schedule.load_state_dict(state)
    rates = zip(schedule.base_lrs, schedule.lr_lambdas, strict=True)
    schedule._last_lr = [base * factor(schedule.last_epoch) for base, factor in rates]
    for group, rate in zip(schedule.optimizer.param_groups, schedule._last_lr, strict=True):
        group["lr"] = rate


def remaining(step: int, steps: int) -> float:
    """Part of the granularity penalty that still counts: it falls to zero with the run.

    Low precision costs least while the weights still change much.
    """
    return max(0.0, 1 - step / steps)


def _constant(step: int) -> float:
    return 1.0

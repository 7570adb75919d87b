"""The learning rate over a run."""

import math

import torch
from torch.optim.lr_scheduler import LambdaLR

__all__ = ["schedule"]


def schedule(optimizer: torch.optim.Optimizer, *, steps: int, warmup: int) -> LambdaLR:
    """Linear warm-up over ``warmup`` steps, then half a cosine down to zero at ``steps``."""

    def factor(step: int) -> float:
        if step < warmup:
            return (step + 1) / warmup
        return 0.5 * (1 + math.cos(math.pi * (step - warmup) / max(1, steps - warmup)))

    return LambdaLR(optimizer, factor)

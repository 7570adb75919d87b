"""Gradients that a training meets, masked by one threshold over all of a gradient."""

from collections.abc import Callable

import torch
from torch import nn

__all__ = ["gradients", "masked"]

Batch = tuple[torch.Tensor, torch.Tensor]


def gradients(
    make: Callable[[], nn.Module],
    batch: Callable[[torch.Generator], Batch],
    rate: float,
    *,
    steps: int,
    seed: int = 0,
) -> list[torch.Tensor]:
    """Each parameter's gradient after so many steps of training, in single precision.

    Parameters
    ----------
    make, batch
        A network, and batches of new samples for it.
    rate : float
        Of SGD with momentum.
    steps : int
        At least one.
    seed : int
        Of weights and batches.
    """
    torch.manual_seed(seed)
    model = make()
    generator = torch.Generator().manual_seed(seed)
    optimizer = torch.optim.SGD(model.parameters(), lr=rate, momentum=0.9)
    for _ in range(steps):
        x, y = batch(generator)
        optimizer.step()
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
    return [p.grad.clone() for p in model.parameters() if p.grad is not None]


def masked(gradient: list[torch.Tensor], density: float) -> list[torch.Tensor]:
    """The largest magnitudes of the whole gradient as BF16, all else +0."""
    whole = torch.cat([x.reshape(-1) for x in gradient]).abs()
    kept = max(round(density * len(whole)), 1)
    threshold = whole.kthvalue(len(whole) - kept + 1).values
    return [torch.where(x.abs() >= threshold, x, 0.0).bfloat16() for x in gradient]

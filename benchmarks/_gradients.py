"""Gradients of the networks of ``hook_cost``, masked by one threshold over all of a gradient."""

import torch
from hook_cost import NETWORKS
from torch import nn

__all__ = ["NETWORKS", "gradients", "masked"]


def gradients(network: str, *, steps: int = 60, seed: int = 0) -> list[torch.Tensor]:
    """Each parameter's gradient after so many steps of training, in single precision.

    Parameters
    ----------
    network : str
        One of ``NETWORKS``.
    steps : int
        With new text or new samples each.
    seed : int
        Of weights and batches.
    """
    make, batches = NETWORKS[network]
    torch.manual_seed(seed)
    model = make()
    generator = torch.Generator().manual_seed(seed)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    for _ in range(steps):
        x, y = batches(generator)
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

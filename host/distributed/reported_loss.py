"""Losses that a script reports."""

import torch

__all__ = ["reported_loss"]


def reported_loss(loss: object) -> torch.Tensor:
    """A loss that a script reports, without its graph; of floating point.

    Raises
    ------
    TypeError, ValueError
        If it is no tensor of real numbers, or not of one element.
    """
    if not isinstance(loss, torch.Tensor):
        raise TypeError(f"loss must be a tensor, not {loss!r}")
    if loss.is_complex():
        raise TypeError(f"loss must be a tensor of real numbers, not of {loss.dtype}")
    if loss.numel() != 1:
        raise ValueError(f"loss must have one element, not {loss.numel()}")
    return loss.detach() if loss.is_floating_point() else loss.detach().float()

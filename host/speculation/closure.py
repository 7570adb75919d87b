"""Closures: what a step is computed by."""

from collections.abc import Callable
from typing import Any

import torch

__all__ = ["Closure", "check_loss"]

#: Computes a loss from the model.
Closure = Callable[[], torch.Tensor]


def check_loss(loss: Any) -> None:
    """See to it that a closure has returned a loss.

    Raises
    ------
    TypeError
        If it has not.
    """
    if not isinstance(loss, torch.Tensor) or loss.numel() != 1 or not loss.requires_grad:
        raise TypeError(
            "a closure must return the loss, a tensor of one element that depends on the "
            f"parameters, without calling backward(), not {loss!r}"
        )

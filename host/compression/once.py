"""Exchanges of gradients that hold what an earlier one has brought back."""

from functools import partial

import torch
from torch import nn

__all__ = ["Once"]


class Once:
    """Sees whether gradients were exchanged and kept when a backward pass adds to them.

    Parameters
    ----------
    parameter : Parameter
        The one that is looked at, for all of them.

    Members
    -------
    again : bool
        The pass under way adds to gradients that have been exchanged.
    """

    def __init__(self, parameter: nn.Parameter) -> None:
        self.again = self._exchanged = False
        self._hook = parameter.register_hook(partial(self._adds, parameter))

    def exchanged(self) -> None:
        """Say that the gradients have been exchanged."""
        self.again, self._exchanged = False, True

    def close(self) -> None:
        """Look no longer."""
        self._hook.remove()

    def _adds(self, parameter: nn.Parameter, _: torch.Tensor) -> None:
        held = parameter.grad
        if held is None or not held.any():
            self._exchanged = False
        self.again = self._exchanged

"""Exchanges of gradients that hold what an earlier one has brought back."""

from collections.abc import Iterable
from functools import partial

import torch
from torch import nn

__all__ = ["Once"]


class Once:
    """Sees whether a backward pass adds to gradients that were exchanged and kept.

    Parameters
    ----------
    parameters : iterable of Parameter
        Whose gradients they are.

    Members
    -------
    again : bool
        The pass under way does so.
    """

    def __init__(self, parameters: Iterable[nn.Parameter]) -> None:
        self.again = False
        self._parameters = [*parameters]
        self._exchanged: set[int] = set()
        self._hooks = [
            parameter.register_hook(partial(self._adds, number))
            for number, parameter in enumerate(self._parameters)
        ]

    def exchanged(self) -> None:
        """Say that the gradients have been exchanged."""
        self.again, self._exchanged = False, {*range(len(self._parameters))}

    def close(self) -> None:
        """Look no longer."""
        for hook in self._hooks:
            hook.remove()

    def _adds(self, number: int, _: torch.Tensor) -> None:
        if number not in self._exchanged:
            return
        held = self._parameters[number].grad
        if held is None or not held.any():
            self._exchanged.discard(number)  # what is added is this worker's
        else:
            self.again = True

"""Exchanges of gradients that hold what an earlier one has brought back."""

from collections.abc import Iterable

from torch import nn

from adagrain.host.distributed.before_accumulation import BeforeAccumulation

__all__ = ["Once"]


class Once:
    """Sees whether a backward pass adds to gradients that were exchanged and kept.

    Parameters
    ----------
    parameters : iterable of Parameter
        Whose gradients they are.
    """

    def __init__(self, parameters: Iterable[nn.Parameter]) -> None:
        self._parameters = [*parameters]
        self._exchanged: set[int] = set()
        self._added: set[int] = set()
        self._hooks = [
            BeforeAccumulation(parameter, self._adds, number)
            for number, parameter in enumerate(self._parameters)
        ]

    def exchanged(self) -> None:
        """Say that the gradients have been exchanged."""
        self._exchanged, self._added = {*range(len(self._parameters))}, set()

    def again(self, numbers: Iterable[int]) -> bool:
        """True if some of these parameters hold exchanged gradients that others were added to."""
        return any(number in self._added and self._holds(number) for number in numbers)

    def close(self) -> None:
        """Look no longer."""
        for hook in self._hooks:
            hook.remove()

    def _adds(self, number: int) -> None:
        if number not in self._exchanged:
            return
        if self._holds(number):
            self._added.add(number)
            return
        self._exchanged.discard(number)  # what is added is this worker's
        self._added.discard(number)

    def _holds(self, number: int) -> bool:
        held = self._parameters[number].grad
        return held is not None and bool(held.any())

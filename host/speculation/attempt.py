"""Passes that a step has computed so far, in order, some of them done again."""

from collections.abc import Mapping, Sequence

import torch
from torch import nn

from .calls import Calls
from .one_pass import OnePass
from .tags import Place

__all__ = ["Attempt"]


class Attempt:
    """The passes of a step, as far as they have come.

    Parameters
    ----------
    names : mapping
        Names of the model's modules, all of them.
    parameters : sequence of Parameter
        All that are trained, in the order of the model.
    """

    def __init__(self, names: Mapping[nn.Module, str], parameters: Sequence[nn.Parameter]) -> None:
        self._names = names
        self._parameters = parameters
        self.forget()

    def forget(self) -> None:
        """Forget all passes: a step begins, or has ended."""
        self._passes: list[OnePass] = []
        self._before: dict[int, Calls] = {}

    def open(self, number: int, *, keeps: bool) -> OnePass:
        """A pass: the next one, or one that is done again.

        Parameters
        ----------
        number : int
            Its number.
        keeps : bool
            If it is the next one: it may have to be done again.
        """
        if number == len(self._passes):
            before = self._before.pop(number, None)
            keeps = keeps or before is not None  # its inputs are compared
            calls = before or Calls(self._names)
            self._passes.append(OnePass(number, self._names, calls, keeps=keeps))
        return self._passes[number]

    def rewind(self, void: Place, *, keeps_outputs: bool) -> None:
        """Go back to a pass, of which some call is void; later ones are void, too.

        Parameters
        ----------
        void : Place
            The pass, and the first call that is void.
        keeps_outputs : bool
            Outputs of calls in front of it stay.
        """
        first, *later = self._passes[void.number :]
        first.rewind(void.call, keeps_outputs=keeps_outputs)
        for own in later:
            own.calls.rewind(-1, same=-1)
            self._before[own.number] = own.calls
        del self._passes[void.number + 1 :]

    def note(self, parameter: nn.Parameter, gradient: torch.Tensor) -> None:
        """Take note of a gradient of the last pass."""
        self._passes[-1].gradients[parameter] = gradient

    def add_up(self) -> None:
        """Add up gradients that stay, in the order of the passes."""
        ended = [own for own in self._passes if own.gradients]
        for own in ended[1:]:
            sums, others = ([o.gradients[p] for p in self._parameters] for o in (ended[0], own))
            torch._foreach_add_(sums, others)
            own.gradients = {}

    def sum(self, parameter: nn.Parameter) -> torch.Tensor:
        """A parameter's gradient, added up in the order of the passes."""
        first, *others = (own.gradients[parameter] for own in self._passes if own.gradients)
        for gradient in others:
            first.add_(gradient)
        return first

    @property
    def losses(self) -> list[torch.Tensor]:
        """Those of passes that have ended."""
        return [own.loss for own in self._passes if own.loss is not None]

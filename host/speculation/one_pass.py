"""A forward and backward pass, and all that is needed to do it again from some call on."""

from collections.abc import Mapping
from typing import NamedTuple

import torch
from torch import nn

from .calls import Calls
from .chain import Chain
from .kept import give_back, kept_by
from .random_state import RandomState

__all__ = ["OnePass"]


class _Buffer(NamedTuple):
    """A module's buffer, and what it held."""

    module: nn.Module
    name: str
    tensor: torch.Tensor
    held: torch.Tensor


class OnePass:
    """A closure's pass.

    Parameters
    ----------
    number : int
        Its number in the step.
    names : mapping
        Names of the model's modules, all of them.
    calls : Calls
        Its calls: none, or those of a run before, whose inputs are compared.
    keeps : bool
        It may have to be done again: buffers and calls are kept.

    Members
    -------
    calls : Calls
        Its calls of modules.
    bound : dict of int to int
        Region → the number of the call with which it was bound to a leaf; −1: at the beginning.
    guesses : dict of int to Chain
        Regions among them whose leaf is a guess.
    kept : set of int
        Regions that were bound by calls which are not done again.
    loss : Tensor
        The closure's, once it has ended.
    reported : Tensor or None
        What the closure has said that its loss is.
    gradients : dict
        By parameter, as they get ready; empty once they were added to those of another pass.
    """

    def __init__(
        self, number: int, names: Mapping[nn.Module, str], calls: Calls, *, keeps: bool
    ) -> None:
        self.number = number
        self.keeps = keeps
        self.calls = calls
        self.bound: dict[int, int] = {}
        self.guesses: dict[int, Chain] = {}
        self.kept: set[int] = set()
        self.loss: torch.Tensor | None = None
        self.reported: torch.Tensor | None = None
        self.gradients: dict[nn.Parameter, torch.Tensor] = {}
        self._random = RandomState.now() if keeps else None
        self._buffers = [
            _Buffer(module, name, buffer, buffer.clone())
            for module in (names if keeps else ())
            for name, buffer in module._buffers.items()
            if buffer is not None
        ]
        self._kept = kept_by(names if keeps else ())

    def rewind(self, void: int, *, keeps_outputs: bool) -> None:
        """Go back to the beginning: random numbers, buffers, what modules keep, as they were.

        Parameters
        ----------
        void : int
            Number of the first call that is void; −1: all are.
        keeps_outputs : bool
            Outputs of calls in front of it stay, unless numbers were drawn that calls do not
            restore. Where none stays, inputs of the first call with weights are still the same.
        """
        assert self._random is not None
        if keeps_outputs and self._random.only_torch_since:
            valid = same = void
        else:
            valid, same = -1, min([void, *self.bound.values()])
        self._random.restore()
        for own in self._buffers:
            own.module._buffers[own.name] = own.tensor
            own.tensor.data.copy_(own.held)
        give_back(self._kept)
        self.calls.rewind(valid, same=same)
        self.bound = {region: call for region, call in self.bound.items() if call < valid}
        self.guesses = {r: chain for r, chain in self.guesses.items() if r in self.bound}
        self.kept = {*self.bound}
        self.gradients = {}

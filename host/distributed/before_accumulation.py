"""Calls in front of what a backward pass adds to a parameter's gradient."""

from collections.abc import Callable

import torch
from torch import nn

from .weakly import weakly

__all__ = ["BeforeAccumulation"]


class BeforeAccumulation:
    """Calls a method whenever a gradient is about to be added to a parameter's own.

    :func:`torch.autograd.grad`, which adds to none, does not count. The method's object is not
    kept alive: the graph would hold it unseen by the garbage collector.

    Parameters
    ----------
    parameter : Parameter
        The parameter.
    call : callable
        A bound method, given ``number``.
    number : int
        What the parameter is to it.
    """

    def __init__(self, parameter: nn.Parameter, call: Callable[[int], None], number: int) -> None:
        with torch.enable_grad():
            edges = parameter.view_as(parameter).grad_fn.next_functions  # type: ignore[union-attr]
        self._node = edges[0][0]  # kept: another one would have no hook
        alive = weakly(call)
        self._hook = self._node.register_prehook(lambda _: alive(number))  # type: ignore[union-attr]

    def remove(self) -> None:
        """Call no longer."""
        self._hook.remove()

"""A call in front of a model's forward passes."""

from collections.abc import Callable
from typing import Any

from torch import nn

__all__ = ["BeforeForward"]


class BeforeForward:
    """A hook that calls, and whose copies, in copies of the model, do nothing.

    Parameters
    ----------
    call : callable
        Given whether the model is training.
    """

    def __init__(self, call: Callable[[bool], None]) -> None:
        self._call = call

    def __call__(self, model: nn.Module, _: Any) -> None:
        self._call(model.training)

    def __reduce__(self) -> tuple[type["BeforeForward"], tuple[Callable[[bool], None]]]:
        return BeforeForward, (_do_nothing,)


def _do_nothing(_: bool) -> None: ...

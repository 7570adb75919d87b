"""Hooks that do not keep alive what they call: lists of hooks live as long as PyTorch does."""

from collections.abc import Callable
from typing import Any
from weakref import WeakMethod

__all__ = ["weakly"]


def weakly(method: Callable[..., Any]) -> Callable[..., None]:
    """A call of a bound method, which does nothing once the method's object is gone."""
    known = WeakMethod(method)

    def called(*args: Any) -> None:
        if (alive := known()) is not None:
            alive(*args)

    return called

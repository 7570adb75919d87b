"""Attributes of an optimizer beside its groups and the state of its parameters."""

from typing import Any

import torch

__all__ = ["OwnAttributes"]

#: Attributes that each optimizer has, or that say that something has been checked once.
_KNOWN = {
    *vars(torch.optim.Optimizer([torch.zeros(1)], {})),
    "_need_device_dtype_check_for_fused",
}


class OwnAttributes:
    """Attributes of an optimizer's stand-in in front of a step, which must not change them.

    A step comes in parts, on stand-ins, and again where it is a guess: what it leaves in an
    attribute would be lost, or counted several times. Numbers, tensors, lists and dictionaries are
    looked at, and what else is assigned; not what changes within other objects.

    Parameters
    ----------
    optimizer : torch.optim.Optimizer
        The stand-in.
    """

    def __init__(self, optimizer: torch.optim.Optimizer) -> None:
        self._optimizer = optimizer
        self._marks = _marks(optimizer)

    def check(self) -> None:
        """See to it that the step has left them as they were.

        Raises
        ------
        TypeError
            If it has not; the attribute is named.
        """
        now = _marks(self._optimizer)
        for name in now.keys() | self._marks.keys():
            if now.get(name) != self._marks.get(name):
                raise TypeError(
                    f"adagrain cannot speculate with {type(self._optimizer).__name__}: it keeps "
                    f"{name!r} as an attribute, but updates come in parts"
                )


def _marks(optimizer: torch.optim.Optimizer) -> dict[str, Any]:
    own = vars(optimizer)
    return {name: _mark(own[name]) for name in own.keys() - _KNOWN}


def _mark(value: Any) -> Any:
    """A mark of a value, which is another one after a change."""
    if isinstance(value, int | float | str):
        return value
    if isinstance(value, torch.Tensor):
        return id(value), value._version
    if isinstance(value, list | tuple):
        return id(value), *map(_mark, value)
    if isinstance(value, dict):
        return id(value), *((key, _mark(own)) for key, own in value.items())
    return id(value)

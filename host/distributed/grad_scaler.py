"""Refuses torch's ``GradScaler``, which would else go unnoticed."""

import sys

import torch

__all__ = ["Refusing"]

#: By which a scaler asks an optimizer whether it scales by itself.
_ASKED = "_step_supports_amp_scaling"


class _Refusal:
    """A truth value that a ``GradScaler`` may not ask for; to all others it is what it was."""

    def __init__(self, value: bool) -> None:
        self._value = value

    def __bool__(self) -> bool:
        caller = sys._getframe(1).f_locals.get("self")
        if isinstance(caller, torch.amp.GradScaler):
            raise TypeError(
                "adagrain does not work with GradScaler: accumulated gradients would mix scales, "
                "and steps that it leaves out cannot be told from missed ones; use bfloat16 "
                "autocast, which needs none"
            )
        return self._value


class Refusing:
    """Has ``GradScaler.step`` raise for an optimizer, until it is removed; a disabled one may stay.

    Parameters
    ----------
    optimizer : torch.optim.Optimizer
        The optimizer.
    """

    def __init__(self, optimizer: torch.optim.Optimizer) -> None:
        self._own = vars(optimizer)
        self._before = {k: v for k, v in self._own.items() if k == _ASKED}
        self._own[_ASKED] = _Refusal(bool(getattr(optimizer, _ASKED, False)))

    def remove(self) -> None:
        """Leave the optimizer as it was."""
        self._own.pop(_ASKED, None)
        self._own.update(self._before)

"""Refuses torch's ``GradScaler``, which would else go unnoticed."""

import sys

import torch

__all__ = ["refuse_grad_scaler"]


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


def refuse_grad_scaler(optimizer: torch.optim.Optimizer) -> None:
    """Have ``GradScaler.step`` raise for this optimizer; a disabled one may stay.

    The attribute is the one by which a scaler asks an optimizer whether it scales by itself.
    """
    name = "_step_supports_amp_scaling"
    setattr(optimizer, name, _Refusal(bool(getattr(optimizer, name, False))))

"""Steps of a script's optimizers behind the hook: what would go wrong without a word is refused."""

from collections.abc import Collection, Iterable
from typing import Any
from weakref import finalize

from torch import nn
from torch.optim.optimizer import Optimizer, register_optimizer_step_pre_hook

from adagrain.host.distributed.weakly import weakly

__all__ = ["OwnSteps", "check_own_momentum"]


class OwnSteps:
    """Refuses steps with momentum that counts twice, or with gradients that no hook has taken.

    Parameters
    ----------
    parameters : iterable of Parameter
        Those that are trained; steps of other optimizers are let be.
    momentum : float
        What compression has; 0 for none.
    """

    def __init__(self, parameters: Iterable[nn.Parameter], momentum: float) -> None:
        self._parameters = [*parameters]
        self._numbers = {*map(id, self._parameters)}
        self._momentum = momentum
        self._is_taken = False
        self._hook = register_optimizer_step_pre_hook(weakly(self._steps))
        finalize(self, self._hook.remove)

    def taken(self) -> None:
        """Say that the hook has taken gradients."""
        self._is_taken = True

    def close(self) -> None:
        """Look no longer."""
        self._hook.remove()

    def _steps(self, optimizer: Optimizer, *_: Any) -> None:
        if self._momentum:
            check_own_momentum(optimizer, self._momentum, self._numbers)
        if not self._is_taken and self._moves(optimizer):
            raise RuntimeError(
                "gradients must go through compress_hook, but none has: call "
                "model.register_comm_hook(state, compress_hook), and the wrapped model"
            )

    def _moves(self, optimizer: Optimizer) -> bool:
        """True if one of its gradients that are to be compressed is not 0."""
        owned = (own for group in optimizer.param_groups for own in group["params"])
        held = (own.grad for own in owned if id(own) in self._numbers)
        return any(own is not None and bool(own.any()) for own in held)


def check_own_momentum(optimizer: Optimizer, momentum: float, compressed: Collection[int]) -> None:
    """See to it that momentum does not count twice.

    Parameters
    ----------
    optimizer : Optimizer
        May have momentum of parameters that are not compressed.
    momentum : float
        What compression has, above 0.
    compressed : collection of int
        ``id`` of each parameter that is.

    Raises
    ------
    ValueError
        If it has some of one that is.
    """
    for group in optimizer.param_groups:
        own = group.get("momentum", 0)
        if own and any(id(parameter) in compressed for parameter in group["params"]):
            raise ValueError(
                f"momentum of {type(optimizer).__name__} must be 0 where compression has "
                f"momentum, {momentum}, not {own}"
            )

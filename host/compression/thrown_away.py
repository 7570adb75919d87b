"""Passes whose gradients a script throws away, while what they leave in residuals stays."""

import logging
from collections.abc import Iterable
from itertools import chain
from operator import ne
from typing import Any
from weakref import WeakSet, finalize

from torch import nn
from torch.optim.optimizer import Optimizer, register_optimizer_step_post_hook

from adagrain.host.distributed.before_accumulation import BeforeAccumulation
from adagrain.host.distributed.repeated import RepeatedWarnings
from adagrain.host.distributed.weakly import weakly

__all__ = ["ThrownAway"]

_log = logging.getLogger("adagrain")


class ThrownAway:
    """Warns where gradients were exchanged, and cleared before any weight has changed.

    That of a discriminator is such a pass when the generator learns through it; so is one whose
    step a script leaves out. A weight has changed where PyTorch has counted that (``_version``), or
    a :class:`torch.optim.Optimizer` that has one of them has stepped, for fused ones are not
    counted; what else writes to ``parameter.data`` looks as if it changed nothing. It is the
    script's to mend, so a run goes on; of the warnings the 1st, 10th, 100th … are told.

    Parameters
    ----------
    parameters : iterable of Parameter
        Those that are trained. The gradient of the first one stands for all.
    quiet : bool
        Tell nobody: the other workers see the same.
    """

    def __init__(self, parameters: Iterable[nn.Parameter], *, quiet: bool) -> None:
        self._parameters = [*parameters]
        self._versions: list[int] = []
        self._warnings = RepeatedWarnings(_log, quiet=quiet)
        self._stepped: WeakSet[Optimizer] = WeakSet()
        steps = register_optimizer_step_post_hook(weakly(self._steps))
        finalize(self, steps.remove)
        self._hooks: list[Any] = [steps, BeforeAccumulation(self._parameters[0], self._adds, 0)]

    def exchanged(self, is_void: bool) -> None:
        """Say that gradients have been exchanged; scripts leave steps with void ones out."""
        self._versions = [] if is_void else [own._version for own in self._parameters]
        self._stepped.clear()

    def close(self) -> None:
        """Look no longer."""
        for hook in self._hooks:
            hook.remove()

    def _steps(self, optimizer: Optimizer, *_: Any) -> None:
        self._stepped.add(optimizer)

    def _adds(self, number: int) -> None:
        versions, self._versions = self._versions, []
        if not versions or self._has_changed(versions):
            return
        held = self._parameters[number].grad
        if held is not None and bool(held.any()):
            return  # it goes on with this step
        self._warnings.warn(
            "thrown away",
            "gradients were exchanged and cleared, but no weight has changed in between: what was "
            "not sent of them stays in the residuals, and comes with later ones; backward passes "
            "whose gradients are to be thrown away must be inside model.no_sync()",
        )

    def _has_changed(self, versions: list[int]) -> bool:
        if any(map(ne, versions, (own._version for own in self._parameters))):
            return True
        own = {*map(id, self._parameters)}
        groups = (group["params"] for stepped in self._stepped for group in stepped.param_groups)
        return not own.isdisjoint(map(id, chain.from_iterable(groups)))

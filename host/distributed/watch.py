"""Sees what happens to gradients between the backward passes that exchange them."""

from collections.abc import Callable, Sequence

import torch
from torch import nn

from .before_accumulation import BeforeAccumulation

__all__ = ["Watch"]

#: What tells if a gradient has been changed; ``None`` where there is none.
_Mark = int | tuple[str, str] | None


class Watch:
    """Looks at a parameter of each region whenever a gradient is about to be added to its own.

    Parameters
    ----------
    parameters : sequence of Parameter
        One of each region.
    replaced : callable
        Whether what a region's gradients hold before a pass is exchanged anew with them: then
        they may be changed in between (as by clipping), if only they are not thrown away.

    Members
    -------
    local : bool
        Gradients were added after the last exchange: they are this worker's alone.
    lost : bool
        Gradients of the last exchange were thrown away, or changed, before others were added.
    """

    def __init__(self, parameters: Sequence[nn.Parameter], replaced: Callable[[int], bool]) -> None:
        self.local = self.lost = False
        self._parameters = parameters
        self._replaced = replaced
        self._marks: list[_Mark] = []
        self._hooks = [BeforeAccumulation(p, self._adds, r) for r, p in enumerate(parameters)]

    def exchanged(self) -> None:
        """Remember the gradients as they are after an exchange."""
        self.local = self.lost = False
        self._marks = [_mark(p.grad) for p in self._parameters]

    def used(self) -> None:
        """Forget them: a step has used them."""
        self._marks = []

    def forget(self) -> None:
        """Forget all that was seen."""
        self.local = self.lost = False
        self._marks = []

    def close(self) -> None:
        """Look no longer."""
        for hook in self._hooks:
            hook.remove()

    def _adds(self, region: int) -> None:
        self.local = True
        mark = self._marks[region] if self._marks else None
        if mark is None:
            return
        gradient = self._parameters[region].grad
        if gradient is None:
            self.lost = True
        elif _mark(gradient) != mark:
            self.lost |= not self._replaced(region) or not bool(gradient.any())


def _mark(gradient: torch.Tensor | None) -> _Mark:
    """The version; of a view of a bucket, whose gradients have one in common, sum and norm."""
    if gradient is None or not gradient._is_view():
        return None if gradient is None else gradient._version
    return str(gradient.sum().item()), str(torch.linalg.vector_norm(gradient).item())

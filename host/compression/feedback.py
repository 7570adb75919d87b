"""Error feedback: what was not sent is added to the next gradient; and momentum beside it."""

from collections.abc import Mapping, Set
from typing import Any, NamedTuple

import torch

from .layout import Layout
from .memory import Memory

__all__ = ["Feedback", "Values"]


class Values(NamedTuple):
    """What a worker has to send.

    Members
    -------
    v : Tensor
        Gradient, or its velocity, and residual; FP32, of one dimension.
    velocity : Tensor or None
        Σ momentum^i · gradient; ``None`` without momentum correction.
    """

    v: torch.Tensor
    velocity: torch.Tensor | None


class Feedback:
    """Residuals of this worker, and velocities, where momentum is corrected.

    v = gradient + residual; of what is sent, residual = v − sent, which is exact. Nothing changes
    before :meth:`keep`, when it is known what has arrived.

    Momentum correction (Lin et al., Deep Gradient Compression, 2018) has momentum here instead of
    in the optimizer: v = velocity + residual, and the velocity of what is sent begins anew.

    Parameters
    ----------
    enabled : bool
        Otherwise what is not sent is forgotten.
    momentum : float
        0: no correction.
    """

    def __init__(self, *, enabled: bool = True, momentum: float = 0.0) -> None:
        self._enabled = enabled
        self._momentum = momentum
        self._residuals = Memory()
        self._velocities = Memory()

    def values(self, layout: Layout, gradient: torch.Tensor) -> Values:
        """What there is to send, given this pass's gradient; memory of its own."""
        own, velocity = gradient.float(), None
        if self._momentum:
            velocity = self._velocities.of(layout, own.device).mul(self._momentum).add_(own)
            own = velocity
        if self._enabled:
            return Values(own + self._residuals.of(layout, own.device), velocity)
        return Values(own.clone(), velocity)

    def keep(
        self,
        layout: Layout,
        values: Values,
        sent: torch.Tensor,
        *,
        arrived: bool,
        void: Set[int],
        everything: bool,
    ) -> None:
        """Keep what has not arrived.

        Of a region that is void, or if nothing has arrived, all is kept; but a share with a number
        that is not finite stays as it was before this pass.

        Parameters
        ----------
        layout : Layout
            What it is of.
        values : Values
            What :meth:`values` gave.
        sent : Tensor
            What was sent of it.
        arrived : bool
            Whether it was added to the average.
        void : set of int
            Regions whose average is not used.
        everything : bool
            Whether all elements were meant to be sent; velocities go on then.
        """
        device = values.v.device
        if self._enabled:
            left = values.v - sent
            self._store(self._residuals.of(layout, device), layout, left, values.v, arrived, void)
        if values.velocity is not None:
            left = values.velocity if everything else values.velocity * (sent == 0)
            old = self._velocities.of(layout, device)
            self._store(old, layout, left, values.velocity, arrived, void)

    def state_dict(self) -> dict[str, Any]:
        """What a resumed run needs, of this worker."""
        return {
            "residuals": self._residuals.state_dict(),
            "velocities": self._velocities.state_dict(),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore what :meth:`state_dict` gave."""
        self._residuals.load_state_dict(state["residuals"])
        self._velocities.load_state_dict(state["velocities"])

    @staticmethod
    def _store(
        old: torch.Tensor,
        layout: Layout,
        left: torch.Tensor,
        whole: torch.Tensor,
        arrived: bool,
        void: Set[int],
    ) -> None:
        """Store what is left, or the whole of what did not arrive."""
        if arrived and not void:
            old.copy_(left)
            return
        rows = zip(layout.keys, *map(layout.parts, (old, left, whole)), strict=True)
        for (region, _), kept, some, all_of_it in rows:
            if arrived and region not in void:
                kept.copy_(some)
            elif all_of_it.isfinite().all():
                kept.copy_(all_of_it)

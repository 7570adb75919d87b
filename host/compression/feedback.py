"""Error feedback: what was not sent is added to the next gradient; and momentum beside it."""

from collections.abc import Iterable, Mapping, Sequence, Set
from typing import Any, NamedTuple

import torch

from .layout import Key, Layout
from .memory import Memory
from .rounding import is_finite, rounded, rounded_sum, subtracted

__all__ = ["Feedback", "Lost", "Values"]


class Values(NamedTuple):
    """A worker's values to send.

    Members
    -------
    v : Tensor
        Gradient, or its velocity, and residual; FP32, of one dimension.
    velocity : Tensor or None
        Σ momentum^i · gradient, the newest one in; ``None`` without momentum correction.
    """

    v: torch.Tensor
    velocity: torch.Tensor | None


class Lost(NamedTuple):
    """Values of a share, sent and not used.

    Members
    -------
    is_velocity : bool
        It is of the velocity, not of the residual.
    key : tuple
        Which share it is.
    values : Tensor
        What has to be added again.
    """

    is_velocity: bool
    key: Key
    values: torch.Tensor


class Feedback:
    """Residuals of this worker, and velocities, where momentum is corrected.

    v = gradient + residual; of what is sent, residual = v − sent, which is exact. The next pass
    goes on from there. What turns out not to have been used is added again; in front of the next
    pass that is as if it had not been sent.

    Momentum correction (Lin et al., Deep Gradient Compression, 2018) has momentum here instead of
    in the optimizer: v = velocity + residual. Nesterov's, as the authors' own program has it too,
    is ahead by a step: v = gradient + momentum · velocity + residual. With their momentum factor
    masking the velocity of what is sent begins anew; without it velocities are those of an
    optimizer that sees this worker's gradients alone.

    Parameters
    ----------
    enabled : bool
        Otherwise what is not sent is forgotten.
    momentum : float
        0: no correction.
    nesterov : bool
        Whether it is Nesterov's.
    masks_momentum : bool
        Whether the velocity of what is sent begins anew.
    """

    def __init__(
        self,
        *,
        enabled: bool = True,
        momentum: float = 0.0,
        nesterov: bool = False,
        masks_momentum: bool = True,
    ) -> None:
        self._enabled = enabled
        self._momentum = momentum
        self._nesterov = nesterov
        self._masks_momentum = masks_momentum
        self._residuals = Memory()
        self._velocities = Memory()

    def values(self, layout: Layout, gradient: torch.Tensor, idle: Sequence[int] = ()) -> Values:
        """Values to send, given this pass's gradient; in memory of their own.

        Shares at the places ``idle``, whose gradient is zero, have what is kept of them, as it is:
        momentum stays where an optimizer leaves it alone.
        """
        own, velocity = gradient.float(), None
        if self._momentum:
            before = self._velocities.of(layout, own.device)
            velocity = before.mul(self._momentum).add_(own)
            _leave(idle, layout, before, velocity)
            own = own.add(velocity, alpha=self._momentum) if self._nesterov else velocity
        if not self._enabled:
            return Values(own.clone(), velocity)
        residual = self._residuals.of(layout, own.device)
        v = own + residual
        _leave(idle, layout, residual, v)
        return Values(v, velocity)

    def rounded(
        self, layout: Layout, gradient: torch.Tensor, idle: Sequence[int] = ()
    ) -> tuple[Values, torch.Tensor]:
        """Return what :meth:`values` gives, and the nearest elements that are sent."""
        if self._enabled and not self._momentum:
            own = gradient.float()
            v, sent = rounded_sum(own, self._residuals.of(layout, own.device))
            return Values(v, None), sent
        values = self.values(layout, gradient, idle)
        return values, rounded(values.v)

    def keep(self, layout: Layout, values: Values, sent: torch.Tensor, *, everything: bool) -> None:
        """Keep what is not sent, as if all that is will arrive.

        A share that is not finite stays as it was before this pass. What others lose with it,
        since an average that is not finite is not used, :meth:`lost` tells.

        Parameters
        ----------
        layout : Layout
            What it is of.
        values : Values
            What :meth:`values` gave.
        sent : Tensor
            What is sent of it.
        everything : bool
            Whether all elements were meant to be sent; velocities go on then.
        """
        for memory, whole, taken in self._taken(values, sent, everything=everything):
            own = memory.of(layout, whole.device)
            if is_finite(whole):
                subtracted(whole, taken, own)
                continue
            for kept, left in zip(*map(layout.parts, (own, whole - taken)), strict=True):
                if left.isfinite().all():
                    kept.copy_(left)

    def lost(
        self,
        layout: Layout,
        values: Values,
        sent: torch.Tensor,
        *,
        void: Set[int],
        everything: bool,
    ) -> list["Lost"]:
        """Values not kept by :meth:`keep`, of regions whose average is not used.

        Nothing changes here, so this may be called while other passes begin.

        Parameters
        ----------
        layout, values, sent, everything
            As those of :meth:`keep`.
        void : set of int
            The regions.
        """
        if void.isdisjoint(region for region, _ in layout.keys):
            return []
        return [
            Lost(memory is self._velocities, key, all_of_it - some)
            for memory, whole, taken in self._taken(values, sent, everything=everything)
            for key, all_of_it, some in zip(
                layout.keys, layout.parts(whole), layout.parts(whole - taken), strict=True
            )
            if key[0] in void and some.isfinite().all()
        ]

    def give_back(self, lost: Iterable["Lost"]) -> None:
        """Keep what :meth:`lost` gave."""
        for own in lost:
            (self._velocities if own.is_velocity else self._residuals).add(own.key, own.values)

    def state_dict(self) -> dict[str, Any]:
        """State of this worker for a resumed run."""
        return {
            "residuals": self._residuals.state_dict(),
            "velocities": self._velocities.state_dict(),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore what :meth:`state_dict` gave."""
        self._residuals.load_state_dict(state["residuals"])
        self._velocities.load_state_dict(state["velocities"])

    def _taken(
        self, values: Values, sent: torch.Tensor, *, everything: bool
    ) -> list[tuple[Memory, torch.Tensor, torch.Tensor]]:
        """Values, and what of them is not left, by where the difference is kept.

        That is finite where there was nothing else: elements that are sent are the nearest ones.
        """
        found = []
        if self._enabled:
            found.append((self._residuals, values.v, sent))
        if values.velocity is not None:
            taken = nothing = torch.zeros((), dtype=torch.float32, device=sent.device)
            if self._masks_momentum and not everything:
                taken = values.velocity.where(sent != 0, nothing)
            found.append((self._velocities, values.velocity, taken))
        return found


def _leave(idle: Sequence[int], layout: Layout, before: torch.Tensor, values: torch.Tensor) -> None:
    """Have shares at some places be what they were before."""
    if idle:
        parts, kept = layout.parts(values), layout.parts(before)
        for place in idle:
            parts[place].copy_(kept[place])

"""The masks of the largest elements, found by selection in each exchange."""

from collections.abc import Mapping
from typing import Any

import torch

from adagrain.models.numerics.largest import largest

from .layout import Layout

__all__ = ["Top"]


class Top:
    """Sends the largest elements of each share, or of all shares of an exchange; at least one.

    Parameters
    ----------
    by_share : bool
        Whether each share, which is a parameter or a slice of one, has as dense a mask.
    """

    def __init__(self, *, by_share: bool) -> None:
        self._by_share = by_share

    def keep(self, v: torch.Tensor, layout: Layout, density: float) -> torch.Tensor:
        """As :meth:`Mask.keep`."""
        parts = layout.parts(v) if self._by_share else [v]
        return torch.cat([largest(own, _count(own, density)) for own in parts])

    def end_pass(self, density: float) -> None:
        """As :meth:`Mask.end_pass`."""

    def state_dict(self) -> dict[str, Any]:
        """As :meth:`Mask.state_dict`."""
        return {}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """As :meth:`Mask.load_state_dict`."""


def _count(v: torch.Tensor, density: float) -> int:
    """Of all elements, those that are sent."""
    return min(max(round(density * v.numel()), 1), v.numel())

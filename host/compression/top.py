"""The masks of the largest elements, found by selection in each exchange."""

from collections.abc import Mapping
from typing import Any

import torch

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
        kept = torch.zeros(v.shape, dtype=torch.bool, device=v.device)
        pairs = zip(layout.parts(kept), layout.parts(v), strict=True)
        for own, values in pairs if self._by_share else [(kept, v)]:
            count = min(max(round(density * len(values)), 1), len(values))
            own[values.abs().topk(count, sorted=False).indices] = True
        return kept

    def end_pass(self, density: float) -> None:
        """As :meth:`Mask.end_pass`."""

    def state_dict(self) -> dict[str, Any]:
        """As :meth:`Mask.state_dict`."""
        return {}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """As :meth:`Mask.load_state_dict`."""

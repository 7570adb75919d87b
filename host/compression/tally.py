"""What was sent of each region, counted until somebody asks."""

from collections.abc import Mapping, Sequence

import numpy as np
import torch

from adagrain.host.distributed.sent import Sent

from .layout import Layout

__all__ = ["Tally"]


class Tally:
    """Counts elements and bits of each region."""

    def __init__(self) -> None:
        self._sent: dict[int, Sent] = {}

    def add(self, layout: Layout, sent: torch.Tensor, bits: Sequence[int]) -> None:
        """Count an exchange.

        Parameters
        ----------
        layout : Layout
            What it was of.
        sent : Tensor
            What was sent of it, BF16, of one dimension; +0 where nothing was.
        bits : sequence of int
            What each share took.
        """
        found = sent.cpu().view(torch.int16).numpy() != 0
        start = 0
        for (region, _), size, taken in zip(layout.keys, layout.sizes, bits, strict=True):
            own = Sent(size, int(np.count_nonzero(found[start : start + size])), taken)
            self._sent[region] = own.plus(self._sent.get(region, Sent(0, 0, 0)))
            start += size

    def join(self, sent: Mapping[int, Sent]) -> None:
        """Count what another one has counted, by region."""
        for region, own in sent.items():
            self._sent[region] = own.plus(self._sent.get(region, Sent(0, 0, 0)))

    def take(self) -> dict[int, Sent]:
        """What was counted since this was called last, by region."""
        taken, self._sent = self._sent, {}
        return taken

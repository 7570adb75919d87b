"""Shares of an exchange, and what identifies them from step to step."""

from collections.abc import Sequence
from typing import NamedTuple, Self

import torch

from adagrain.host.distributed.exchange import Share

__all__ = ["Key", "Layout"]

#: What identifies a share: number of its region, and first element in that.
Key = tuple[int, int]


class Layout(NamedTuple):
    """Shares that are exchanged together, one after the other.

    Members
    -------
    keys : tuple of Key
        What they are of.
    sizes : tuple of int
        Elements of each.
    """

    keys: tuple[Key, ...]
    sizes: tuple[int, ...]

    @classmethod
    def of(cls, shares: Sequence[Share]) -> Self:
        """That of some shares, all of which are of regions."""
        keys = tuple((share.region, share.start) for share in shares if share.region is not None)
        return cls(keys, tuple(share.mean.numel() for share in shares))

    @property
    def elements(self) -> int:
        """Elements in all."""
        return sum(self.sizes)

    def parts(self, flat: torch.Tensor) -> Sequence[torch.Tensor]:
        """Each share's elements of a tensor of one dimension; views."""
        return flat.split(list(self.sizes))

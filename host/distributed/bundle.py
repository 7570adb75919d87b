"""Gradients that lie together in memory, which are exchanged without being copied."""

from collections.abc import Sequence, Set
from itertools import groupby

import torch

from adagrain.host.regions.chunks import Chunk

from .exchange import Flat, Share

__all__ = ["Bundle"]


class Bundle:
    """Gradients of whole parameters, one after the other, all of them in regions of cadence 1.

    Parameters
    ----------
    chunks : sequence of Chunk
        What lies there, slice by slice.
    means : Tensor
        The memory; of one dimension.
    sizes : sequence of int
        Elements of all regions.

    Members
    -------
    flat : Flat
        The gradients, and memory of the bundle's own for their averages.
    shares : tuple of Share
        The same, slice by slice.
    placed : dict of int to Flat
        Regions that lie there whole, without anything in between, in some order.
    scattered : list of tuple
        Slices of other regions, with their shares.
    """

    def __init__(self, chunks: Sequence[Chunk], means: torch.Tensor, sizes: Sequence[int]) -> None:
        self.flat = Flat(means, torch.empty_like(means))
        self.shares: tuple[Share, ...] = ()
        self.placed: dict[int, Flat] = {}
        self.scattered: list[tuple[Chunk, Share]] = []
        self.regions = frozenset(chunk.region for chunk in chunks)
        start = 0
        for region, group in groupby(chunks, key=lambda chunk: chunk.region):
            own = [*group]
            shares = self._shares(own, start)
            self.shares += shares
            elements = sum(chunk.part.numel for chunk in own)
            if elements == sizes[region]:
                self.placed[region] = self.flat.part(start, elements)
            else:
                self.scattered += zip(own, shares, strict=True)
            start += elements

    def averages(self, kept: Set[int]) -> torch.Tensor:
        """The averages, once they are there; zeros where a region is not kept."""
        if not self.regions <= kept:
            for share in self.shares:
                if share.region not in kept:
                    share.average.zero_()
        return self.flat.averages

    def _shares(self, chunks: Sequence[Chunk], start: int) -> tuple[Share, ...]:
        shares = []
        for chunk in chunks:
            own = self.flat.part(start, chunk.part.numel)
            shares.append(Share(chunk.region, *own, chunk.start))
            start += chunk.part.numel
        return tuple(shares)

"""Gradients that lie together in memory, which are exchanged without being copied."""

from collections.abc import Sequence, Set
from itertools import groupby

import torch

from adagrain.host.regions.pieces import Piece

from .exchange import Flat, Share

__all__ = ["Bundle"]


class Bundle:
    """Gradients of whole parameters, one after the other, all of them in regions of cadence 1.

    Parameters
    ----------
    pieces : sequence of Piece
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

    def __init__(self, pieces: Sequence[Piece], means: torch.Tensor, sizes: Sequence[int]) -> None:
        self.flat = Flat(means, torch.empty_like(means))
        self.shares: tuple[Share, ...] = ()
        self.placed: dict[int, Flat] = {}
        self.scattered: list[tuple[Piece, Share]] = []
        self.regions = frozenset(piece.region for piece in pieces)
        start = 0
        for region, group in groupby(pieces, key=lambda piece: piece.region):
            own = [*group]
            shares = self._shares(own, start)
            self.shares += shares
            elements = sum(piece.part.numel for piece in own)
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

    def _shares(self, pieces: Sequence[Piece], start: int) -> tuple[Share, ...]:
        shares = []
        for piece in pieces:
            shares.append(Share(piece.region, *self.flat.part(start, piece.part.numel)))
            start += piece.part.numel
        return tuple(shares)

"""Gradients of regions on this worker: summed over a period, averaged over the workers."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

import torch

from adagrain.host.regions.pieces import Piece, flat, pieces_of
from adagrain.host.regions.regions import Regions

from .clock import Clock
from .exchange import Share

__all__ = ["Accumulators", "Bundle"]


@dataclass(frozen=True)
class Bundle:
    """Gradients that lie one after the other in memory, all of them in regions.

    Parameters
    ----------
    shares : tuple of Share
        Where their elements lie in the flat tensors, slice by slice.
    sizes : tuple of int
        Elements of each.
    regions : frozenset of int
        Numbers of the regions that they are of.
    """

    shares: tuple[Share, ...]
    sizes: tuple[int, ...]
    regions: frozenset[int]

    def __len__(self) -> int:
        """Slices."""
        return len(self.sizes)

    def copy(self, flat: torch.Tensor) -> None:
        """Have the totals hold the gradients that are in a flat tensor."""
        torch._foreach_copy_([share.mean for share in self.shares], flat.split(self.sizes))

    def zero(self, flat: torch.Tensor, kept: Collection[int]) -> None:
        """Write zeros into the parts of a flat tensor that are of other regions."""
        for share, part in zip(self.shares, flat.split(self.sizes), strict=True):
            if share.region not in kept:
                part.zero_()


class Accumulators:
    """Flat tensors for each region: the sum of its period, and the average that comes back.

    A gradient that is added is what ``.grad`` holds after a backward pass. In further backward
    passes of a step that includes what :meth:`write_back` left there, which is taken off again:
    the sum is over the passes, the mean over the steps.

    Parameters
    ----------
    regions : Regions
        What they are for.
    clock : Clock
        Who knows which regions are due.

    Members
    -------
    totals : list of Tensor
        Of each region: the sum over its period so far, or the mean over the period if it is due.
    averages : list of Tensor
        Of each region: the mean over the workers too.
    """

    def __init__(self, regions: Regions, clock: Clock) -> None:
        self._clock = clock
        self._pieces = pieces_of(regions)
        self.totals = [flat(region) for region in regions]
        self.averages = [flat(region) for region in regions]
        self.slices = sum(len(pieces) for pieces in self._pieces.values())
        self._bundles: dict[tuple[int, ...], Bundle | None] = {}

    def pieces(self, parameter: torch.Tensor) -> Sequence[Piece]:
        """Where a parameter's slices lie; none for those that are in no region."""
        return self._pieces.get(id(parameter), ())

    def share(self, piece: Piece) -> Share:
        """What is exchanged of a slice."""
        return Share(piece.region, piece.of(self.totals), piece.of(self.averages))

    def bundle(
        self,
        parameters: Sequence[torch.Tensor],
        gradients: Callable[[], Sequence[torch.Tensor]],
        flat: torch.Tensor,
    ) -> Bundle | None:
        """How gradients may be taken all at once; only where each region has cadence 1.

        Parameters
        ----------
        parameters : sequence of Tensor
            Whose gradients they are.
        gradients : callable
            Gives the gradients; called where these parameters have not come together before.
        flat : Tensor
            Memory that they are thought to lie in.
        """
        key = (flat.data_ptr(), *map(id, parameters))
        if key not in self._bundles:
            self._bundles[key] = self._bundled(parameters, gradients(), flat)
        found, cadences = self._bundles[key], self._clock.cadences
        if found and all(cadences[region] == 1 for region in found.regions):
            return found
        return None

    def _bundled(
        self,
        parameters: Sequence[torch.Tensor],
        gradients: Sequence[torch.Tensor],
        flat: torch.Tensor,
    ) -> Bundle | None:
        at = flat.data_ptr()
        for parameter, gradient in zip(parameters, gradients, strict=True):
            if gradient.data_ptr() != at or not gradient.is_contiguous():
                return None
            if not self.pieces(parameter):
                return None
            at += gradient.nbytes
        pieces = [piece for parameter in parameters for piece in self.pieces(parameter)]
        shares = tuple(self.share(piece) for piece in pieces)
        sizes = tuple(share.mean.numel() for share in shares)
        return Bundle(shares, sizes, frozenset(piece.region for piece in pieces))

    def add(self, piece: Piece, gradient: torch.Tensor, *, first: bool) -> None:
        """Add a slice of its parameter's gradient.

        Parameters
        ----------
        piece : Piece
            The slice.
        gradient : Tensor
            The whole parameter's.
        first : bool
            From the first backward pass of this step.
        """
        clock, region = self._clock, piece.region
        cadence = clock.cadences[region]
        total, part = piece.of(self.totals), piece.part.of(gradient).reshape(-1)
        if cadence == 1 or (first and clock.begins(region)):
            total.copy_(part)  # so that −0 stays −0
        elif first or not clock.is_due(region):
            total.add_(part)
        else:
            total.add_(part - piece.of(self.averages), alpha=1.0 / cadence)
        if first and cadence > 1 and clock.is_due(region):
            total.mul_(1.0 / cadence)

    def write_back(
        self, parameter: torch.Tensor, gradient: torch.Tensor, due: Collection[int]
    ) -> None:
        """Write the averages of due regions into a gradient, and zeros elsewhere."""
        for piece in self.pieces(parameter):
            part = piece.part.of(gradient)
            if piece.region in due:
                part.copy_(piece.of(self.averages).view_as(part))
            else:
                part.zero_()

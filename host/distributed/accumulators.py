"""Gradients of regions on this worker: summed over a period, averaged over the workers."""

from collections.abc import Collection, Sequence

import torch

from adagrain.host.regions.pieces import Piece, flat, pieces_of
from adagrain.host.regions.regions import Regions

from .clock import Clock

__all__ = ["Accumulators"]


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

    def pieces(self, parameter: torch.Tensor) -> Sequence[Piece]:
        """Where a parameter's slices lie; none for those that are in no region."""
        return self._pieces.get(id(parameter), ())

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

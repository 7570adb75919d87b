"""Places of a region's slices in its flat tensors."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from .regions import ParameterSlice, Region, Regions

__all__ = ["Chunk", "chunks_of", "flat"]


@dataclass(frozen=True, eq=False)
class Chunk:
    """A slice's elements in the flat tensor of its region.

    Parameters
    ----------
    region : int
        Number of the region.
    start : int
        First element.
    part : ParameterSlice
        The slice.
    """

    region: int
    start: int
    part: ParameterSlice

    def of(self, flats: Sequence[torch.Tensor]) -> torch.Tensor:
        """The elements, given the flat tensors of all regions; a view."""
        return flats[self.region][self.start : self.start + self.part.numel]


def chunks_of(regions: Regions) -> dict[int, list[Chunk]]:
    """All chunks, by the identity of their parameter."""
    chunks: dict[int, list[Chunk]] = {}
    for number, region in enumerate(regions):
        start = 0
        for part in region.slices:
            chunks.setdefault(id(part.parameter), []).append(Chunk(number, start, part))
            start += part.numel
    return chunks


def flat(region: Region) -> torch.Tensor:
    """Zeros for all elements of a region, of its parameters' type, where they are."""
    parameter = region.slices[0].parameter
    return torch.zeros(region.numel, dtype=parameter.dtype, device=parameter.device)

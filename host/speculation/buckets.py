"""Transport buckets: regions that go together in one collective."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

import torch
from torch import nn

from adagrain.host.regions.regions import Region, Regions

__all__ = ["Bucket", "buckets_apart", "buckets_of", "divided", "kind_of"]


@dataclass(frozen=True, eq=False)
class Bucket:
    """Regions that follow each other, of one type and place.

    Parameters
    ----------
    regions : tuple of int
        Their numbers.
    parameters : tuple of Parameter
        Their parameters.
    """

    regions: tuple[int, ...]
    parameters: tuple[nn.Parameter, ...]


def buckets_of(regions: Regions, most: int) -> list[Bucket]:
    """Buckets from the last region to the first, as a backward pass gets their gradients ready.

    Parameters
    ----------
    regions : Regions
        All regions; blocks of rows are not known here.
    most : int
        Bytes of a bucket that has several regions.
    """
    counts: list[int] = []
    size, kind = 0, None
    for region in reversed(regions):
        own = region.numel * kind_of(region)[0].itemsize
        if not counts or size + own > most or kind_of(region) != kind:
            counts.append(0)
            size, kind = 0, kind_of(region)
        counts[-1] += 1
        size += own
    return divided(regions, counts)


def divided(regions: Regions, counts: Sequence[int]) -> list[Bucket]:
    """Buckets of so many regions each, from the last region to the first."""
    numbers = iter(reversed(range(len(regions))))
    return [_bucket(regions, [*islice(numbers, count)]) for count in counts]


def buckets_apart(parameters: Sequence[nn.Parameter]) -> list[Bucket]:
    """Buckets of parameters in no region, one for each type and place."""
    kinds: dict[tuple[torch.dtype, torch.device], list[nn.Parameter]] = {}
    for own in parameters:
        kinds.setdefault((own.dtype, own.device), []).append(own)
    return [Bucket((), tuple(members)) for members in kinds.values()]


def kind_of(region: Region) -> tuple[torch.dtype, torch.device]:
    """Type and place, which all regions of a bucket have in common."""
    first = region.slices[0].parameter
    return first.dtype, first.device


def _bucket(regions: Regions, numbers: list[int]) -> Bucket:
    members: list[Region] = [regions[number] for number in numbers]
    return Bucket(tuple(numbers), tuple(part.parameter for own in members for part in own.slices))

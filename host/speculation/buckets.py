"""Transport buckets: regions that go together in one collective."""

from dataclasses import dataclass

from torch import nn

from adagrain.host.regions.regions import Region, Regions

__all__ = ["Bucket", "buckets_of"]


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
    groups: list[list[int]] = []
    size, kind = 0, None
    for number, region in reversed([*enumerate(regions)]):
        first = region.slices[0].parameter
        own = region.numel * first.element_size()
        if not groups or size + own > most or (first.dtype, first.device) != kind:
            groups.append([])
            size, kind = 0, (first.dtype, first.device)
        groups[-1].append(number)
        size += own
    return [_bucket(regions, numbers) for numbers in groups]


def _bucket(regions: Regions, numbers: list[int]) -> Bucket:
    members: list[Region] = [regions[number] for number in numbers]
    return Bucket(tuple(numbers), tuple(part.parameter for own in members for part in own.slices))

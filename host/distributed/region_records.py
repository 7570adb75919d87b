"""First content of a device's region table."""

from collections.abc import Sequence

from amaranth.utils import exact_log2

from adagrain.host.regions.regions import Regions
from adagrain.models.interface.configuration import Configuration
from adagrain.models.interface.formats import format_of
from adagrain.models.interface.units.region_manager import CadencePolicy
from adagrain.models.region_manager.settings import region_record

from .reducer_options import ReducerOptions

__all__ = ["check_regions", "region_records"]


def check_regions(regions: Regions, built: Configuration) -> None:
    """See to it that a device can look at regions, and decide on them.

    Raises
    ------
    ValueError
        If there are too many.
    TypeError
        If it has no statistics of a region's type.
    """
    if len(regions) > built.regions:
        raise ValueError(
            f"model must have at most {built.regions} regions on device preset "
            f"{built.preset!r}, not {len(regions)}"
        )
    for region in regions:
        code = format_of(region.slices[0].parameter.dtype).code
        if code not in built.formats:
            known = ", ".join(known.name for known in built.formats)
            raise TypeError(
                f"parameters must be of one of {known} on device preset {built.preset!r}, but "
                f"those of region {region.name!r} are {code.name}"
            )


def region_records(
    first: Sequence[int], longest: Sequence[int], options: ReducerOptions
) -> list[bytes]:
    """Records of all regions, given their first and longest cadences."""
    cadence = options.cadence
    return [
        region_record(
            policy=options.policy,
            cadence_policy=CadencePolicy.FIXED if cadence is None else cadence,
            cadence=exact_log2(own),
            cadence_max=exact_log2(max(own, most)),
        )
        for own, most in zip(first, longest, strict=True)
    ]

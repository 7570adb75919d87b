"""First and longest cadences of all regions, checked."""

from collections.abc import Iterable, Mapping, Sequence

from amaranth.hdl import Shape

from adagrain.host.device.arguments import integer
from adagrain.models.interface.units.region_manager import RegionRecord

__all__ = ["first_cadences", "longest_cadences"]


#: The longest cadence that a record of the region table holds, which has its logarithm.
_LONGEST = 1 << (1 << Shape.cast(RegionRecord["cadence_max"].shape).width) - 1


def longest_cadences(names: Sequence[str], cadence_max: int | Mapping[str, int]) -> list[int]:
    """Longest cadence of each region; 1 for those that a mapping does not name.

    Raises
    ------
    TypeError, ValueError
        If one is no power of two, or too long for the region table, or a name is unknown.
    """
    if not isinstance(cadence_max, Mapping):
        return [_power_of_two("cadence_max", cadence_max)] * len(names)
    _check_names(names, cadence_max)
    return [_power_of_two(f"cadence_max of {name!r}", cadence_max.get(name, 1)) for name in names]


def first_cadences(
    names: Sequence[str],
    cadences: Mapping[str, int],
    *,
    longest: Sequence[int],
    epoch_steps: int,
) -> list[int]:
    """Cadence of each region at the beginning; 1 for those that are not named.

    Raises
    ------
    TypeError, ValueError
        If one is no power of two, a name is unknown, or a decision epoch is no multiple of the
        longest.
    """
    _check_names(names, cadences)
    first = [_power_of_two(f"cadence of {name!r}", cadences.get(name, 1)) for name in names]
    for name, cadence in zip(names, map(max, first, longest), strict=True):
        if epoch_steps % cadence:
            raise ValueError(
                f"epoch_steps must be a multiple of the longest cadence ({cadence} for {name!r}), "
                f"not {epoch_steps}"
            )
    return first


def _check_names(names: Sequence[str], given: Iterable[str]) -> None:
    for name in given:
        if name not in names:
            raise ValueError(f"region must be one of {', '.join(names)}, not {name!r}")


def _power_of_two(name: str, value: int) -> int:
    value = integer(name, value)
    if not 1 <= value <= _LONGEST or value & (value - 1):
        raise ValueError(f"{name} must be a power of two from 1 to {_LONGEST}, not {value!r}")
    return value

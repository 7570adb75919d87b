"""Entries of recordings, compared."""

from collections.abc import Iterator, Mapping
from typing import Any

__all__ = ["first_difference", "place_of"]

#: Fields that say where in a run an entry belongs.
_PLACE = ("step", "look", "pass", "call", "region")


def place_of(entry: Mapping[str, Any]) -> str:
    """Kind and place of an entry."""
    fields = [f"{name} {entry[name]!r}" for name in _PLACE if name in entry]
    return f"{entry['kind']!s} ({', '.join(fields)})"


def first_difference(recorded: Any, now: Any) -> tuple[str, str, str] | None:
    """The first value that differs: what it is, as it was recorded, and as it is now.

    Parameters
    ----------
    recorded, now : dict
        Entries of one kind, from JSON: values are compared as they are written there.
    """
    for path, was, is_now in _leaves(recorded, now):
        if repr(was) != repr(is_now):
            return _named(path, now), repr(was), repr(is_now)
    return None


def _leaves(recorded: Any, now: Any, *path: str) -> Iterator[tuple[tuple[str, ...], Any, Any]]:
    """Pairs of values, with the names that lead to them."""
    if not isinstance(recorded, dict) or not isinstance(now, dict):
        yield path, recorded, now
        return
    for name in {**recorded, **now}:
        both = (own.get(name, "not there") for own in (recorded, now))
        yield from _leaves(*both, *path, name)


def _named(path: tuple[str, ...], entry: Mapping[str, Any]) -> str:
    """A value by its name, and its region's."""
    if path[0] == "regions":
        return f"{' '.join(path[2:])} of region {path[1]!r}"
    of = f" of region {entry['region']!r}" if "region" in entry else ""
    return f"{' '.join(path)}{of}"

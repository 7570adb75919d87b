"""Checks of the driver's arguments."""

import operator
from collections.abc import Mapping
from typing import SupportsIndex

__all__ = ["check_parts", "check_span", "integer"]


def integer(name: str, value: SupportsIndex) -> int:
    """A whole number of any type that counts as one: ``True``, NumPy's integers, but no floats.

    Raises
    ------
    TypeError
        If it is none.
    """
    try:
        return operator.index(value)
    except TypeError:
        raise TypeError(f"{name} must be an integer, not {value!r}") from None


def check_parts(state: object, *names: str) -> None:
    """See to it that a state has its parts.

    Raises
    ------
    TypeError, ValueError
        If it is no mapping, or a part is missing, which is named.
    """
    if not isinstance(state, Mapping):
        raise TypeError(f"state must be a mapping, as state_dict() gives it, not {state!r:.60}")
    for name in names:
        if name not in state:
            raise ValueError(
                f"state must be what state_dict() has given, with {', '.join(names)}, but there is "
                f"no {name!r}"
            )


def check_span(what: str, first: SupportsIndex, count: SupportsIndex, of: int) -> tuple[int, int]:
    """So many entries of a table from one on, as plain integers.

    Raises
    ------
    TypeError, ValueError
        If one is no integer, or they leave the table.
    """
    first, count = integer("first", first), integer("count", count)
    if count < 0:
        raise ValueError(f"count must be 0 or more, not {count}")
    if first < 0 or first + count > of:
        last = first + max(count, 1) - 1
        raise ValueError(f"{what} must be from 0 to {of - 1}, not {first} to {last}")
    return first, count

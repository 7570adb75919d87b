"""Checks of constructors' parameters: whoever gives a wrong one is told at once."""

import math
from collections.abc import Sequence

__all__ = [
    "check_choice",
    "check_flag",
    "check_integer",
    "check_kind",
    "check_power_of_two",
    "check_rate",
]


def check_kind(name: str, value: object, kind: type) -> None:
    """Make sure that a parameter is of a type.

    Raises
    ------
    TypeError
        If it is of another one.
    """
    if not isinstance(value, kind):
        raise TypeError(f"{name} must be of type {kind.__name__}, not {value!r}")


def check_flag(name: str, value: bool) -> None:
    """Make sure that a parameter is True or False.

    Raises
    ------
    TypeError
        If it is anything else, 0 and 1 included.
    """
    if not isinstance(value, bool):
        raise TypeError(f"{name} must be True or False, not {value!r}")


def check_integer(name: str, value: int, low: int, high: int | None = None) -> None:
    """Make sure that a parameter is an integer, at least ``low`` and at most ``high``.

    Raises
    ------
    TypeError
        If it is no integer, as True and 2.0 are none.
    ValueError
        If it is out of range.
    """
    _check_int(name, value)
    if high is None and value < low:
        raise ValueError(f"{name} must be at least {low}, not {value!r}")
    if high is not None and not low <= value <= high:
        raise ValueError(f"{name} must be from {low} to {high}, not {value!r}")


def check_power_of_two(name: str, value: int, low: int, high: int | None = None) -> None:
    """Make sure that a parameter is a power of two, at least ``low`` and at most ``high``.

    Raises
    ------
    TypeError
        If it is no integer, as True and 2.0 are none.
    ValueError
        If it is no power of two, or out of range.
    """
    _check_int(name, value)
    where = f" and at least {low}" if high is None else f" from {low} to {high}"
    if value < low or (high is not None and value > high) or value & (value - 1):
        raise ValueError(f"{name} must be a power of two{where}, not {value!r}")


def check_choice(name: str, value: int, choices: Sequence[int]) -> None:
    """Make sure that a parameter is one of some integers.

    Raises
    ------
    TypeError
        If it is no integer, as True and 2.0 are none.
    ValueError
        If it is none of these.
    """
    _check_int(name, value)
    if value not in choices:
        *others, last = map(str, choices)
        raise ValueError(f"{name} must be {', '.join(others)} or {last}, not {value!r}")


def check_rate(name: str, value: float) -> None:
    """Make sure that a parameter can be so many of something per second.

    Raises
    ------
    TypeError
        If it is no number, as True is none.
    ValueError
        If it is not positive, or not finite.
    """
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise TypeError(f"{name} must be a number, not {value!r}")
    if not (value > 0 and math.isfinite(value)):
        raise ValueError(f"{name} must be positive and finite, not {value!r}")


def _check_int(name: str, value: object) -> None:
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f"{name} must be an integer, not {value!r}")

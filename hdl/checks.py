"""What constructors demand of their parameters: whoever gives a wrong one is told at once."""

from collections.abc import Sequence

__all__ = ["check_choice", "check_flag", "check_integer", "check_kind", "check_power_of_two"]


def check_kind(name: str, value: object, kind: type, called: str) -> None:
    """Make sure that a parameter is of a kind, which messages call so.

    Raises
    ------
    TypeError
        If it is of another one.
    """
    if not isinstance(value, kind):
        raise TypeError(f"{name} must be {called}, not {value!r}")


def check_flag(name: str, value: bool) -> None:
    """Make sure that a parameter is True or False.

    Raises
    ------
    TypeError
        If it is not.
    """
    check_kind(name, value, bool, "True or False")


def check_integer(name: str, value: int, low: int, high: int | None = None) -> None:
    """Make sure that a parameter is an integer, at least ``low`` and at most ``high``.

    Raises
    ------
    TypeError
        If it is none, as True and 2.0 are not.
    ValueError
        If it is out of range.
    """
    _check_int(name, value)
    if high is None and value < low:
        raise ValueError(f"{name} must be at least {low}, not {value!r}")
    if high is not None and not low <= value <= high:
        raise ValueError(f"{name} must be from {low} to {high}, not {value!r}")


def check_power_of_two(name: str, value: int, low: int) -> None:
    """Make sure that a parameter is a power of two, and at least ``low``.

    Raises
    ------
    TypeError
        If it is no integer.
    ValueError
        If it is no power of two, or too small.
    """
    _check_int(name, value)
    if value < low or value & (value - 1):
        least = f" and at least {low}" if low > 1 else ""
        raise ValueError(f"{name} must be a power of two{least}, not {value!r}")


def check_choice(name: str, value: int, choices: Sequence[int]) -> None:
    """Make sure that a parameter is one of some integers.

    Raises
    ------
    TypeError
        If it is no integer.
    ValueError
        If it is none of these.
    """
    _check_int(name, value)
    if value not in choices:
        *others, last = map(str, choices)
        raise ValueError(f"{name} must be {', '.join(others)} or {last}, not {value!r}")


def _check_int(name: str, value: object) -> None:
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f"{name} must be an integer, not {value!r}")

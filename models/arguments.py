"""Numbers that a caller gives, looked at before anything is computed."""

from numbers import Integral

__all__ = ["whole"]


def whole(name: str, value: object, most: int) -> int:
    """A whole number from 0 to ``most``, as one of Python's own.

    Raises
    ------
    TypeError, ValueError
        If it is none, or out of its range.
    """
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise TypeError(f"{name} must be a whole number, not {value!r}")
    own = int(value)
    if not 0 <= own <= most:
        raise ValueError(f"{name} must be from 0 to {most}, not {own}")
    return own

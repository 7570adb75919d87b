"""Checks of the kinds that options are of."""

from numbers import Integral, Real

__all__ = ["check_is_number"]


def check_is_number(name: str, value: object, kind: type = Real) -> None:
    """See to it that an option is a number.

    Parameters
    ----------
    name : str
        Name of the option.
    value : object
        What was given.
    kind : type
        ``Real``, or ``Integral`` for an integer.

    Raises
    ------
    TypeError
        If it is of another kind; truth values are no numbers.
    """
    if isinstance(value, bool) or not isinstance(value, kind):
        wanted = "an integer" if kind is Integral else "a number"
        raise TypeError(f"{name} must be {wanted}, not {value!r}")

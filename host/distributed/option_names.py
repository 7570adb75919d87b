"""Names and numbers among options, looked at before anything else."""

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from numbers import Integral
from typing import Any

__all__ = ["check_names", "check_number"]


def check_names(owner: str, names: Iterable[str], known: Sequence[str]) -> None:
    """See to it that options have names that are known.

    Parameters
    ----------
    owner : str
        What has the options, for people.
    names : iterable of str
        What was given.
    known : sequence of str
        What there is.

    Raises
    ------
    TypeError
        If there is none of a name; what it may be instead is said.
    """
    for name in names:
        if name not in known:
            close = get_close_matches(str(name), known, 1)
            guess = f"; did you mean {close[0]!r}?" if close else f"; it has {', '.join(known)}"
            raise TypeError(f"{owner} has no option {name!r}{guess}")


def check_number(options: object, name: str, kind: type, wanted: str, fits: Any) -> None:
    """See to it that an option is a number of a kind and in its range, and one of Python's own.

    Others (NumPy's, fractions) would be in saved states, which ``torch.load`` refuses then.

    Parameters
    ----------
    options : object
        What has it as an attribute; it may be a frozen dataclass.
    name : str
        Its name.
    kind : type
        Of :mod:`numbers`.
    wanted : str
        What it must be, for people.
    fits : callable
        Whether a number of that kind is in range.

    Raises
    ------
    TypeError, ValueError
        If it is not.
    """
    value = getattr(options, name)
    if isinstance(value, bool) or not isinstance(value, kind):
        raise TypeError(f"{name} must be {wanted}, not {value!r}")
    if not fits(value):
        raise ValueError(f"{name} must be {wanted}, not {value!r}")
    own: type = int if kind is Integral else float
    object.__setattr__(options, name, own(value))

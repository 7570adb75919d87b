"""Names of options, looked at before anything else."""

from collections.abc import Iterable, Sequence
from difflib import get_close_matches

__all__ = ["check_names"]


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
            close = get_close_matches(name, known, 1)
            guess = f"; did you mean {close[0]!r}?" if close else f"; it has {', '.join(known)}"
            raise TypeError(f"{owner} has no option {name!r}{guess}")

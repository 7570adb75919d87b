"""Mutants that change nothing that anyone could see, with the argument for each."""

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from .mutations import Mutation

__all__ = ["Equivalent", "argued", "equivalents"]

_LIST = Path(__file__).parent / "equivalent.toml"


@dataclass(frozen=True)
class Equivalent:
    """A mutant that need not be found.

    Parameters
    ----------
    file, before, after : str
        As :class:`Mutation` has them: lines without the space around them.
    why : str
        Why no test could find it.
    """

    file: str
    before: str
    after: str
    why: str


@cache
def equivalents() -> tuple[Equivalent, ...]:
    """All that are argued."""
    listed = tomllib.loads(_LIST.read_text())["equivalent"]
    return tuple(Equivalent(**{name: text.strip() for name, text in e.items()}) for e in listed)


def argued(mutation: Mutation) -> Equivalent | None:
    """The argument why a mutation changes nothing, if there is one."""
    wanted = (mutation.file, mutation.before, mutation.after)
    return next((e for e in equivalents() if (e.file, e.before, e.after) == wanted), None)

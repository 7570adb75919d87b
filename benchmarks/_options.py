"""Options that benchmarks share, and what is refused of them before anything is trained."""

import argparse
import math
import re
from collections.abc import Callable, Collection, Sequence

import typer

__all__ = [
    "above_zero",
    "check_once",
    "check_ways",
    "counted",
    "from_zero",
    "positive",
    "record_name",
]

_WHOLE = "a whole number from 1 on"


def positive(text: str) -> int:
    """A whole number from 1 on, of an option.

    Raises
    ------
    argparse.ArgumentTypeError
        If it is none.
    """
    return int(_number(text, _WHOLE, lambda n: n >= 1 and n.is_integer()))


def counted(value: int | None) -> int | None:
    """The same of an option of Typer's, if it is given.

    Raises
    ------
    typer.BadParameter
        If it is less.
    """
    if value is not None and value < 1:
        raise typer.BadParameter(f"must be {_WHOLE}, not {value}")
    return value


def from_zero(text: str) -> float:
    """A number from 0 on; raises as :func:`positive`."""
    return _number(text, "a number from 0 on", lambda n: 0 <= n < math.inf)


def above_zero(text: str) -> float:
    """A number above 0; raises as :func:`positive`."""
    return _number(text, "a number above 0", lambda n: 0 < n < math.inf)


def _number(text: str, wanted: str, good: Callable[[float], bool]) -> float:
    try:
        found = float(text)
    except ValueError:
        found = math.nan
    if not good(found):
        raise argparse.ArgumentTypeError(f"must be {wanted}, not {text}")
    return found


def record_name(text: str) -> str:
    """A name of a record, or nothing; raises as :func:`positive`."""
    if not re.fullmatch(r"(\w[\w.%-]{,99})?", text, re.ASCII):
        wanted = "a plain name of at most 100 letters, digits, _, %, . or -"
        raise argparse.ArgumentTypeError(f"must be {wanted}, not {text!r}")
    return text


def check_ways(
    parser: argparse.ArgumentParser, ways: Sequence[str], known: Collection[str]
) -> None:
    """Refuse a way that there is not, and one that is named twice."""
    if unknown := [way for way in ways if way not in known]:
        parser.error(f"ways must be of {', '.join(known)}, not {unknown[0]!r}")
    check_once(parser, "ways", ways)


def check_once(parser: argparse.ArgumentParser, name: str, values: Sequence[object]) -> None:
    """Refuse a value of an option that is given twice."""
    if twice := [value for value in values if values.count(value) > 1]:
        parser.error(f"{name} must differ, but {twice[0]} is given twice")

"""Command lines that cannot be parsed: one clear line, as for other errors."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import typer
from typer.core import TyperGroup

from .errors import tell

__all__ = ["Commands", "parsed"]

#: What typer raises for such a line; it has no public name.
_UsageError: Any = typer.BadParameter.__mro__[1]

#: How pydantic, which typer asks, begins to say what a value should be.
_EXPECTED = "Input should be "


class Commands(TyperGroup):
    """A group of commands that tells in one line what is wrong with a command line."""

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        windows_expand_args: bool = True,
        **extra: Any,
    ) -> Any:
        """Run a command; where it stands alone, Python ends with its status."""
        if not standalone_mode:
            return super().main(args, prog_name, complete_var, False, windows_expand_args, **extra)
        with parsed(sys.argv[1:] if args is None else args):
            status = super().main(
                args, prog_name, complete_var, False, windows_expand_args, **extra
            )
        sys.exit(status if isinstance(status, int) else 0)


@contextmanager
def parsed(given: Sequence[str]) -> Iterator[None]:
    """End with status 2 and one line where something is wrong with a command line.

    Parameters
    ----------
    given : sequence of str
        The command line, without the name of the program.
    """
    try:
        yield
    except _UsageError as error:
        if type(error).__name__ != "NoArgsIsHelpError":  # which has shown the help
            tell(f"{_said(error, given)}{_hint(error)}")
        sys.exit(2)


def _said(error: Any, given: Sequence[str]) -> str:
    names: Sequence[str] = getattr(getattr(error, "param", None), "opts", ())
    value = _value(names, given)
    if value is None:
        return error.format_message().rstrip(".")
    if not error.message.startswith(_EXPECTED):
        return f"{error.format_message().rstrip('.')}, not {value!r}"
    expected = error.message.removeprefix(_EXPECTED).partition(",")[0]
    return f"{names[0]} must be {expected}, not {value!r}"


def _value(names: Sequence[str], given: Sequence[str]) -> str | None:
    """Value that was given for an option."""
    for word, following in zip(given, [*given[1:], ""], strict=True):
        name, equals, value = word.partition("=")
        if name in names:
            return value if equals else following
    return None


def _hint(error: Any) -> str:
    return f"; see {error.ctx.command_path} --help" if error.ctx else ""

"""Options of a command line that are the fields of a dataclass."""

import inspect
from collections.abc import Callable
from dataclasses import MISSING
from typing import Annotated, Any, TypeVar

import typer

from adagrain.host.train.option import described

__all__ = ["with_options"]

_Command = TypeVar("_Command", bound=Callable[..., None])


def with_options(options: type) -> Callable[[_Command], _Command]:
    """Give a command the options of a dataclass, where it takes keywords of any name."""

    def decorate(command: _Command) -> _Command:
        own = inspect.signature(command)
        parameters = [p for p in own.parameters.values() if p.kind is not p.VAR_KEYWORD]
        context, *rest = parameters
        signature = own.replace(parameters=[context, *_parameters(options), *rest])
        command.__signature__ = signature  # type: ignore[attr-defined]
        command.__annotations__ = {p.name: p.annotation for p in signature.parameters.values()}
        return command

    return decorate


def _parameters(options: type) -> list[inspect.Parameter]:
    """A parameter for each option, as typer reads it."""
    return [
        inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY,
            default="" if field.default is MISSING else field.default,
            annotation=Annotated[
                field.type,
                typer.Option(
                    _flags(known.flag or name.replace("_", "-"), field.type),
                    help=known.about,
                    show_default=known.usual or True,
                ),
            ],
        )
        for name, (field, known) in described(options).items()
    ]


def _flags(name: str, kind: Any) -> str:
    """Flags of an option; one that is on or off has a name for each."""
    return f"--{name}/--no-{name}" if kind is bool else f"--{name}"

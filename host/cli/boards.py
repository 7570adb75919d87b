"""The option that names a board; what boards are takes too long to load for a help."""

from typing import Annotated

import typer

__all__ = ["BoardName"]

BoardName = Annotated[
    str,
    typer.Option(help="ulx3s, ulx3s-granular, ulx3s-whole, ulx3s-25f, icebreaker or tang-nano-9k."),
]

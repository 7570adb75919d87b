"""The command line: ``adagrain --help``."""

import typer

from adagrain import __version__

from .bitstream import bitstream, program
from .devices import devices, info, selftest
from .replay import replay
from .sim import sim
from .synth import synth
from .train import train
from .usage import Commands
from .virtual_board import virtual_board

__all__ = ["app"]

app = typer.Typer(
    cls=Commands,
    help="Adaptive-granularity neural-network training with an FPGA coprocessor beside every "
    "worker.\n\nStart here: adagrain train",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_show_locals=False,
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"adagrain {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: bool = typer.Option(
        False, "--version", callback=_version, is_eager=True, help="Show the version and exit."
    ),
) -> None:
    pass


app.command()(train)
app.command()(replay)
app.command()(devices)
app.command()(info)
app.command()(selftest)
app.command(
    add_help_option=False,  # the benches have a command line of their own, with its own help
    context_settings={"allow_extra_args": True, "ignore_unknown_options": True},
)(sim)
app.command()(synth)
app.command()(virtual_board)
app.command()(bitstream)
app.command()(program)

if __name__ == "__main__":
    app()

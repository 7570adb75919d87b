"""``adagrain train``: a distributed training run."""

import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from adagrain.host.train.config_file import read_config
from adagrain.host.train.option import described
from adagrain.host.train.options import TrainingOptions
from adagrain.host.train.run_console import RunConsole

from .errors import told
from .options import with_options

__all__ = ["train"]

#: Exit status of a run that came to its end, but whose result cannot be trusted.
UNTRUSTED = 3


@with_options(TrainingOptions)
def train(
    context: typer.Context,
    *,
    config: Annotated[
        Path | None,
        typer.Option(
            help="Options from a TOML file, or a run's options.json, by their names; what is on "
            "the command line prevails."
        ),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with the run of that name.")
    ] = False,
    from_step: Annotated[
        int | None,
        typer.Option(
            help="With --resume: go back to the checkpoint of that step.",
            show_default="the newest",
        ),
    ] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace an earlier run of that name.")
    ] = False,
    **_: Any,
) -> None:
    """Train a network on several workers, with a coprocessor beside each.

    --resume needs the run's name alone; more --steps extend a run. The exit status is 0 where all
    went well, 1 where a worker or device failed, 2 where an argument or file is wrong, 3 where the
    run diverged or dropped most updates.

    Example: adagrain train --preset cadence --device sim: --name first
    """
    console = RunConsole()
    with told():
        given = (read_config(config) if config else {}) | _given(context)
        _check_how(resume=resume, from_step=from_step, overwrite=overwrite, given=given)
        given["command"] = tuple(sys.argv)
        from adagrain.host.train import run

        if resume:
            folder = Path(given.pop("runs", TrainingOptions.runs)) / given.pop("name")
            status = run.resume(folder, given, from_step=from_step, say=console.print)
        else:
            preset = given.get("preset", TrainingOptions.preset)
            given.setdefault("name", f"{preset}-{time.strftime('%Y%m%d-%H%M%S')}")
            options = TrainingOptions(**given)
            status = run.start(options, overwrite=overwrite, config=config, say=console.print)
    if status is not run.RunStatus.FINISHED:
        raise typer.Exit(UNTRUSTED)


def _check_how(
    *, resume: bool, from_step: int | None, overwrite: bool, given: Mapping[str, Any]
) -> None:
    if resume and overwrite:
        raise ValueError("--resume must be given without --overwrite: a run goes on, or is anew")
    if resume and not given.get("name"):
        raise ValueError("--resume must be given with the run's --name")
    if from_step is not None and not resume:
        raise ValueError("--from-step must be given with --resume")


def _given(context: typer.Context) -> dict[str, Any]:
    """The options of the training that are on the command line, by their names in Python."""
    sources = {name: context.get_parameter_source(name) for name in described(TrainingOptions)}
    return {
        name: context.params[name]
        for name, source in sources.items()
        if source and source.name == "COMMANDLINE"
    }

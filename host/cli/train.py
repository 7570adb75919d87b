"""``adagrain train``: a distributed training run."""

import sys
import time
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from adagrain.host.train.options import TrainingOptions

from .errors import told

__all__ = ["train"]

#: Exit status of a run that came to its end, but whose result cannot be trusted.
UNTRUSTED = 3

#: Parameters of the command that are no options of a training.
_HOW = ("resume", "from_step", "overwrite")


def train(
    context: typer.Context,
    preset: Annotated[
        str,
        typer.Option(
            help="sync: update all in every step; cadence: regions as decided; "
            "granular: layers in the precision decided; all: both."
        ),
    ] = TrainingOptions.preset,
    device: Annotated[
        str, typer.Option(help="Each worker's device: sim:, golden: ({rank} for its number).")
    ] = TrainingOptions.device,
    device_preset: Annotated[
        str,
        typer.Option(
            help="tiny, small, full, granular or wide.",
            show_default="granular if needed, else full",
        ),
    ] = TrainingOptions.device_preset,
    workers: Annotated[
        int, typer.Option(help="Processes that train together.")
    ] = TrainingOptions.workers,
    data: Annotated[
        str, typer.Option(help="digits, or a folder with MNIST or CIFAR-10 files.")
    ] = TrainingOptions.data,
    by: Annotated[
        str, typer.Option(help="Regions: module, tensor or rows:N.")
    ] = TrainingOptions.by,
    steps: Annotated[int, typer.Option(help="Steps of the run.")] = TrainingOptions.steps,
    batch: Annotated[
        int, typer.Option(help="Samples per worker and step.")
    ] = TrainingOptions.batch,
    learning_rate: Annotated[
        float, typer.Option("--lr", help="Peak learning rate.")
    ] = TrainingOptions.learning_rate,
    warmup: Annotated[int, typer.Option(help="Steps of warm-up.")] = TrainingOptions.warmup,
    cap: Annotated[
        float, typer.Option(help="Highest rate that a cadence may reach.")
    ] = TrainingOptions.cap,
    cadence_max: Annotated[
        int, typer.Option(help="Longest cadence.")
    ] = TrainingOptions.cadence_max,
    epoch_steps: Annotated[
        int, typer.Option(help="Steps between decisions.")
    ] = TrainingOptions.epoch_steps,
    noise: Annotated[
        float, typer.Option(help="Noise-to-signal ratio above which cadences grow.")
    ] = TrainingOptions.noise,
    precision: Annotated[
        str, typer.Option(help="dynamic, or FP32, FP16, INT8, INT4 for all layers.")
    ] = TrainingOptions.precision,
    units: Annotated[
        int, typer.Option(help="Granularity units of a layer.")
    ] = TrainingOptions.units,
    gradients: Annotated[
        str, typer.Option(help="Lowest precision of the backward pass: INT4, INT8, FP16 or FP32.")
    ] = TrainingOptions.gradients,
    penalty: Annotated[
        float, typer.Option(help="Weight of the granularity penalty.")
    ] = TrainingOptions.penalty,
    threshold_rate: Annotated[
        float, typer.Option("--threshold-lr", help="Peak learning rate of precision thresholds.")
    ] = TrainingOptions.threshold_rate,
    bits: Annotated[
        float, typer.Option(help="Mean bits that forward passes may have; 0: any.")
    ] = TrainingOptions.bits,
    offload: Annotated[
        str, typer.Option(help="forward: devices compute forward passes; none.")
    ] = TrainingOptions.offload,
    offload_every: Annotated[
        int, typer.Option(help="Steps from one that is offloaded to the next.")
    ] = TrainingOptions.offload_every,
    seed: Annotated[
        int, typer.Option(help="Of initial weights and sample order.")
    ] = TrainingOptions.seed,
    timing: Annotated[
        str, typer.Option(help="measured, fixed or replay:FILE.")
    ] = TrainingOptions.timing,
    checkpoint_every: Annotated[
        int, typer.Option(help="Steps; 0 for no checkpoints.")
    ] = TrainingOptions.checkpoint_every,
    name: Annotated[str, typer.Option(help="Run's name; by default from preset and time.")] = "",
    runs: Annotated[Path, typer.Option(help="Folder of all runs.")] = TrainingOptions.runs,
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
) -> None:
    """Train a network on several workers, with a coprocessor beside each.

    --resume needs the run's name alone; more --steps extend a run. The exit status is 0 where all
    went well, 1 where a worker or device failed, 2 where an argument or file is wrong, 3 where the
    run diverged or dropped most updates.

    Example: adagrain train --preset cadence --device sim: --name first
    """
    console = Console()
    with told():
        _check_how(resume=resume, from_step=from_step, overwrite=overwrite, name=name)
        given = _given(context)
        from adagrain.host.train import run

        if resume:
            folder = Path(given.pop("runs", runs)) / given.pop("name")
            changes = given | {"command": tuple(sys.argv)}
            verdict = run.resume(folder, changes, from_step=from_step, say=console.print)
        else:
            unnamed = f"{preset}-{time.strftime('%Y%m%d-%H%M%S')}"
            options = TrainingOptions(**{"name": unnamed, "command": tuple(sys.argv), **given})
            verdict = run.start(options, overwrite=overwrite, say=console.print)
    if verdict is not run.Verdict.FINISHED:
        raise typer.Exit(UNTRUSTED)


def _check_how(*, resume: bool, from_step: int | None, overwrite: bool, name: str) -> None:
    if resume and overwrite:
        raise ValueError("--resume must be given without --overwrite: a run goes on, or is anew")
    if resume and not name:
        raise ValueError("--resume must be given with the run's --name")
    if from_step is not None and not resume:
        raise ValueError("--from-step must be given with --resume")


def _given(context: typer.Context) -> dict[str, Any]:
    """The options of the training that are on the command line, by their names in Python."""
    sources = {name: context.get_parameter_source(name) for name in context.params}
    given = {name for name, source in sources.items() if source and source.name == "COMMANDLINE"}
    return {name: context.params[name] for name in given.difference(_HOW)}

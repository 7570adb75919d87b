"""``adagrain train``: a distributed training run."""

import json
import sys
import time
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from .errors import told

__all__ = ["train"]


def train(
    preset: Annotated[
        str, typer.Option(help="sync: update every region in every step; cadence: as decided.")
    ] = "cadence",
    device: Annotated[
        str, typer.Option(help="Each worker's device: sim:, golden: ({rank} for its number).")
    ] = "sim:",
    device_preset: Annotated[str, typer.Option(help="tiny, small or full.")] = "full",
    workers: Annotated[int, typer.Option(help="Processes that train together.")] = 2,
    data: Annotated[
        str, typer.Option(help="digits, or a folder with MNIST or CIFAR-10 files.")
    ] = "digits",
    by: Annotated[str, typer.Option(help="Regions: module, tensor or rows:N.")] = "module",
    steps: Annotated[int, typer.Option(help="Steps of the run.")] = 1050,
    batch: Annotated[int, typer.Option(help="Samples per worker and step.")] = 32,
    learning_rate: Annotated[float, typer.Option("--lr", help="Peak learning rate.")] = 0.1,
    warmup: Annotated[int, typer.Option(help="Steps of warm-up.")] = 32,
    cap: Annotated[float, typer.Option(help="Highest rate that a cadence may reach.")] = 0.2,
    cadence_max: Annotated[int, typer.Option(help="Longest cadence.")] = 4,
    epoch_steps: Annotated[int, typer.Option(help="Steps between decisions.")] = 16,
    noise: Annotated[float, typer.Option(help="Noise-to-signal ratio to aim at.")] = 0.25,
    seed: Annotated[int, typer.Option(help="Of initial weights and sample order.")] = 0,
    timing: Annotated[str, typer.Option(help="measured, fixed or replay:FILE.")] = "measured",
    checkpoint_every: Annotated[int, typer.Option(help="Steps; 0 for no checkpoints.")] = 0,
    name: Annotated[str, typer.Option(help="Run's name; by default from preset and time.")] = "",
    runs: Annotated[Path, typer.Option(help="Folder of all runs.")] = Path("runs"),
    resume: Annotated[bool, typer.Option(help="Go on from the newest checkpoint.")] = False,
    overwrite: Annotated[bool, typer.Option(help="Replace an earlier run of that name.")] = False,
) -> None:
    """Train a network on several workers, with a coprocessor beside each.

    Example: adagrain train --preset cadence --device sim: --name first
    """
    with told():
        from adagrain.host.timing import Timing
        from adagrain.host.train.folder import MARK, prepare
        from adagrain.host.train.launch import launch
        from adagrain.host.train.options import TrainingOptions

        options = TrainingOptions(
            name=name or f"{preset}-{time.strftime('%Y%m%d-%H%M%S')}",
            runs=runs,
            preset=preset,
            data=data,
            workers=workers,
            device=device,
            device_preset=device_preset,
            by=by,
            steps=steps,
            batch=batch,
            learning_rate=learning_rate,
            warmup=warmup,
            cap=cap,
            cadence_max=cadence_max,
            epoch_steps=epoch_steps,
            noise=noise,
            seed=seed,
            timing=timing,
            checkpoint_every=checkpoint_every,
            command=tuple(sys.argv),
        )
        Timing.parse(timing)
        _check(options)
        prepare(options.folder, resume=resume, overwrite=overwrite)
        (options.folder / MARK).write_text(json.dumps(options.recorded(), indent=2) + "\n")
        Console().print(
            f"run {options.name}: {data}, {workers} workers, {steps} steps, "
            f"a device {device} beside each"
        )
        launch(options, resume=resume)


def _check(options: object) -> None:
    """Open what the workers will open, so that a mistake shows before they start."""
    from adagrain.host.driver import open_device
    from adagrain.host.train.data import load

    load(options.data)  # type: ignore[attr-defined]
    open_device(options.device.format(rank=0), options.device_preset).close()  # type: ignore[attr-defined]

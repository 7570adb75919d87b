"""``adagrain train``: a distributed training run."""

import sys
import time
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from adagrain.host.train.options import TrainingOptions

from .errors import told

__all__ = ["train"]

#: What people must know before they wait.
_SLOW = (
    "[yellow]slow:[/] every octet crosses a simulated serial line, so a step takes some seconds; "
    "--steps 20 makes a short run"
)


def train(
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
    resume: Annotated[bool, typer.Option(help="Go on from the newest checkpoint.")] = False,
    overwrite: Annotated[bool, typer.Option(help="Replace an earlier run of that name.")] = False,
) -> None:
    """Train a network on several workers, with a coprocessor beside each.

    Example: adagrain train --preset cadence --device sim: --name first
    """
    with told():
        from adagrain.host.train.folder import prepare
        from adagrain.host.train.launch import launch

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
            precision=precision,
            units=units,
            gradients=gradients,
            penalty=penalty,
            threshold_rate=threshold_rate,
            bits=bits,
            offload=offload,
            offload_every=offload_every,
            seed=seed,
            timing=timing,
            checkpoint_every=checkpoint_every,
            command=tuple(sys.argv),
        )
        _check(options)
        prepare(options, resume=resume, overwrite=overwrite)
        Console().print(
            f"run {options.name}: {data}, {workers} workers, {steps} steps, "
            f"a device {device} beside each"
        )
        if device.startswith("virtual:"):
            Console().print(_SLOW)
        launch(options, resume=resume)


def _check(options: TrainingOptions) -> None:
    """Make what the workers will make, so that a mistake shows before they start."""
    from adagrain.host.driver import open_device
    from adagrain.host.granular import Granularity, convert
    from adagrain.host.regions import regions
    from adagrain.host.timing import Timing
    from adagrain.host.train.data import load
    from adagrain.host.train.networks import build
    from adagrain.host.train.shards import Shards

    Timing.parse(options.timing)
    data = load(options.data)
    Shards(len(data.inputs), batch=options.batch, workers=options.workers, rank=0, seed=0)
    network = build(data, options.seed)
    if options.granular:
        network = convert(network, options.policy)
    regions(network, options.by)
    with open_device(options.device_of(0), options.device_preset) as device:
        if options.granular:
            Granularity(network, device)

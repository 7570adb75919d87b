"""``adagrain train --preset all`` or ``compress`` against ``sync``: accuracy, bytes, guesses.

Trains the main job's digits on two workers with golden devices (bit-exact with the RTL), really
distributed, each training preset with its defaults; and ``all`` once more guessing wherever an
update is late, for on a fast link it has little reason to. With ``--compressed``, instead of
``all``, ``compress``; once more with momentum correction and two mantissa bits. Differences are
paired by seed; accuracies are in percent, on 450 test images.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Any

import numpy as np
import typer
from _figures import standard_error
from _options import counted
from _report import check_replaces, report
from _training import Job, Outcome, train_all
from rich.progress import Progress

from adagrain.host.train.options import TrainingOptions

SYNC = TrainingOptions(name="benchmark", device="golden:", preset="sync")
ALL = replace(SYNC, preset="all", device_preset="")

#: What is trained, by the name that it has in the report.
WAYS = {"sync": SYNC, "all": ALL, "all_guessing": replace(ALL, speculation_policy="always")}

COMPRESS = replace(SYNC, preset="compress")

#: What is trained with ``--compressed``.
COMPRESSED = {
    "sync": SYNC,
    "compress": COMPRESS,
    "compress_top_nesterov": replace(
        COMPRESS, mask="top", mantissa_bits=2, momentum_correction=True, nesterov=True
    ),
}

#: What each may be divided into, to find out which part costs what.
PARTS = {
    "cadence": replace(SYNC, preset="cadence"),
    "granular": replace(SYNC, preset="granular", device_preset=""),
    "compress": COMPRESS,
    "speculate_guessing": replace(SYNC, preset="speculate", speculation_policy="always"),
}


def main(
    seeds: Annotated[int, typer.Option(callback=counted, help="How many.")] = 10,
    parts: Annotated[bool, typer.Option(help="Train each part of all by itself, too.")] = False,
    compressed: Annotated[bool, typer.Option(help="Compress, in place of all.")] = False,
    record: Annotated[bool, typer.Option(help="Keep the figures.")] = False,
) -> None:
    """Train, compare, report."""
    if compressed and parts:
        raise typer.BadParameter("--compressed and --parts do not go together")
    name = "presets_compressed" if compressed else "presets"
    ways = COMPRESSED if compressed else WAYS | (PARTS if parts else {})
    if record:
        check_replaces(name, ways, seeds)
    with Progress() as progress:
        found = {way: train(own, range(seeds), way, progress) for way, own in ways.items()}
    rows = {way: row(own, found["sync"]) for way, own in found.items()}
    figures = {"seeds": seeds, "steps": SYNC.steps, **rows}
    report(name, figures, whole=record, keep="--record")


def train(
    options: TrainingOptions, seeds: Sequence[int], title: str, progress: Progress
) -> list[Outcome]:
    """Train once for each seed."""
    task = progress.add_task(title, total=len(seeds))
    jobs = [Job(replace(options, seed=seed)) for seed in seeds]
    return train_all(jobs, progress=lambda done: progress.advance(task, done))


def row(outcomes: Sequence[Outcome], others: Sequence[Outcome]) -> dict[str, Any]:
    """What became of a way; its difference from another one, with its standard error."""
    pairs = zip(outcomes, others, strict=True)
    differences = [own.accuracy - other.accuracy for own, other in pairs]
    return {
        "accuracy": float(np.mean([own.accuracy for own in outcomes])),
        "accuracies": [round(own.accuracy, 3) for own in outcomes],
        "minus_sync": float(np.mean(differences)),
        "minus_sync_standard_error": standard_error(differences),
        "bytes_sent": float(np.mean([own.bytes_sent for own in outcomes])),
        "bytes_ratio": float(np.mean([own.bytes_ratio for own in outcomes])),
        "trials": sum(own.trials for own in outcomes),
        "accepts": sum(own.accepts for own in outcomes),
    }


if __name__ == "__main__":
    typer.run(main)

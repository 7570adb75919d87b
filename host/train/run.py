"""A run, from its beginning or from where it stopped, to its end."""

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from rich.markup import escape

from adagrain import models

from .checkpoint import CHECKPOINTS, Manifest, choose, remove_unfinished, set_aside, step_of
from .folder import (
    SUMMARY,
    begun,
    check_new,
    locked,
    read_options,
    read_summary,
    remove_result,
    write_options,
)
from .launch import launch
from .metrics import METRICS
from .metrics_check import check_metrics
from .options import TrainingOptions
from .rehearsal import rehearse
from .resumed_options import resumed
from .run_status import RunStatus

__all__ = ["resume", "start"]

#: What people must know before they wait.
_SLOW = (
    "[yellow]slow:[/] every byte crosses a simulated serial line, so a step takes some seconds; "
    "--steps 20 makes a short run"
)


_COMPILES = "kernels are compiled in the first steps, once, which may take a minute"


def _silent(text: str) -> None:
    pass


def start(
    options: TrainingOptions,
    *,
    overwrite: bool = False,
    config: Path | None = None,
    say: Callable[[str], None] = _silent,
) -> RunStatus:
    """Train from the beginning.

    Parameters
    ----------
    options : TrainingOptions
        What to do.
    overwrite : bool
        Replace an earlier run of that name.
    config : Path or None
        File that the options are from.
    say : callable
        Called with what is about to be done.

    Raises
    ------
    ValueError, TypeError, OSError
        If something is wrong that can be known before the workers start; nothing is left behind.
    RunFailedError
        As :func:`~adagrain.host.train.launch.launch`.
    """
    check_new(options, overwrite=overwrite, config=config)
    rehearse(options)
    _announce(options, f"{options.steps} steps", say)
    with begun(options, overwrite=overwrite):
        return launch(options)


def resume(
    folder: Path,
    given: Mapping[str, Any],
    *,
    from_step: int | None = None,
    say: Callable[[str], None] = _silent,
) -> RunStatus:
    """Go on with a run from its newest checkpoint, with the options that it was begun with.

    Parameters
    ----------
    folder : Path
        The run's.
    given : mapping
        Options that are to change, of those that may; more steps extend the run.
    from_step : int or None
        Go back to the checkpoint of that step; those after it are set aside.
    say : callable
        Called with what is about to be done.

    Raises
    ------
    CheckpointError
        If no checkpoint can be used, or not the one that is asked for.
    ValueError, TypeError, OSError
        If something else is wrong that can be known before the workers start.
    RunFailedError
        As :func:`~adagrain.host.train.launch.launch`.
    """
    options = resumed(read_options(folder), given)
    if options.record_run:
        raise ValueError(
            f"run {options.name!r} must not be recorded when it is resumed, as a recording begins "
            "with its run; --no-record-run lets it go on"
        )
    if options.replay:
        raise ValueError(
            f"run {options.name!r} must not be a replay when it is resumed, as a replay begins "
            "with its recording; adagrain replay makes it anew"
        )
    manifest = Manifest.of(options, rehearse(options))
    with locked(folder):
        checkpoint = choose(folder / CHECKPOINTS, manifest, from_step)
        _check_unfinished(options, step_of(checkpoint))
        _check_log(options, step_of(checkpoint))
        _announce(options, f"from step {step_of(checkpoint)} to {options.steps}", say)
        if from_step is not None:
            set_aside(folder / CHECKPOINTS, from_step)
        remove_unfinished(folder / CHECKPOINTS)
        write_options(options)
        remove_result(folder)
        return launch(options, checkpoint)


def _check_unfinished(options: TrainingOptions, step: int) -> None:
    """Refuse a run that has taken all its steps and left its summary."""
    if step < options.steps or not (options.folder / SUMMARY).exists():
        return
    summary = read_summary(options.folder, otherwise="remove it, and --resume makes it anew")
    if summary["steps"] >= options.steps:
        raise ValueError(
            f"run {options.name!r} has taken its {options.steps} steps; "
            f"--steps N with more than that lets it go on"
        )


def _check_log(options: TrainingOptions, step: int) -> None:
    """Refuse a run whose log has not what it had at its checkpoint of a step.

    Several updates deep the last steps are logged when the run goes on.
    """
    depth = options.speculation.depth if options.speculation else 0
    check_metrics(options.folder / METRICS, step, told=max(0, step + 1 - max(1, depth)))


def _announce(options: TrainingOptions, what: str, say: Callable[[str], None]) -> None:
    say(
        escape(
            f"run {options.name}: {options.data}, {options.workers} workers, {what}, "
            f"a device {options.device} beside each"
        )
    )
    if options.device.startswith("virtual:"):
        say(_SLOW)
    kernels = os.environ.get("NUMBA_CACHE_DIR") or models.__path__[0]
    if not any(Path(kernels).rglob("*.nbi")):  # as numba names what it keeps
        say(_COMPILES)

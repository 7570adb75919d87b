"""Starts the workers of a run with torchrun's own machinery, on this machine."""

import logging
import os
import shlex
import signal
import tempfile
import uuid
from pathlib import Path
from typing import Any

from torch.distributed.elastic.multiprocessing.api import DefaultLogsSpecs, SignalException
from torch.distributed.elastic.multiprocessing.errors import ChildFailedError
from torch.distributed.launcher.api import LaunchConfig, elastic_launch

from . import worker
from .checkpoint import CHECKPOINTS, checkpoints, remove_unfinished, step_of
from .interrupts import Interrupt, answering_for_workers
from .options import TrainingOptions
from .run_status import RunStatus

__all__ = ["FAILURE", "RunFailedError", "RunInterruptedError", "launch"]

#: File in a run's folder with the whole traceback of a worker that failed.
FAILURE = "failure.txt"


#: Beginning of what torch says where a worker has not raised an exception.
_NOTHING_TOLD = "To enable traceback see"


class RunFailedError(RuntimeError):
    """A worker failed; no worker is left."""


class RunInterruptedError(RunFailedError):
    """The run got a signal; no worker is left.

    Parameters
    ----------
    number : signal.Signals
        Which signal.
    way_on : str
        What to do, for the message.
    """

    def __init__(self, number: signal.Signals, way_on: str) -> None:
        super().__init__(f"interrupted by {number.name}{way_on}")
        self.exit_status = 128 + number


def launch(options: TrainingOptions, checkpoint: Path | None = None) -> RunStatus:
    """Run all workers to the end.

    Parameters
    ----------
    options : TrainingOptions
        What to do.
    checkpoint : Path or None
        What to go on from.

    Raises
    ------
    RunFailedError
        If a worker fails or dies. The others are ended; the message names the first worker that
        failed and its reason.
    RunInterruptedError
        If the run gets SIGINT, SIGTERM, SIGHUP or SIGQUIT.
    """
    (options.folder / FAILURE).unlink(missing_ok=True)
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    _silence_torch()
    with (
        answering_for_workers(),
        tempfile.TemporaryDirectory(prefix="adagrain-run-") as scratch,
    ):
        return _run(options, checkpoint, _config(options, scratch))


def _config(options: TrainingOptions, scratch: str) -> LaunchConfig:
    """Tells how workers are started; torch keeps what it needs meanwhile in a folder."""
    return LaunchConfig(
        min_nodes=1,
        max_nodes=1,
        nproc_per_node=options.workers,
        run_id=uuid.uuid4().hex,
        rdzv_backend="c10d",
        rdzv_endpoint="127.0.0.1:0",
        local_addr="127.0.0.1",
        max_restarts=0,
        monitor_interval=0.2,
        signals_to_handle="",  # we do
        start_method="spawn",
        logs_specs=DefaultLogsSpecs(log_dir=scratch),
    )


def _run(options: TrainingOptions, checkpoint: Path | None, config: LaunchConfig) -> RunStatus:
    """As :func:`launch`, with workers that are started so."""
    try:
        statuses = elastic_launch(config, worker.run)(options, checkpoint)
    except ChildFailedError as error:
        rank, failure = error.get_first_failure()
        remove_unfinished(options.folder / CHECKPOINTS)
        raise RunFailedError(
            f"worker {rank} failed, the others were ended: {_reason(options, failure.message)}"
            f"{_way_on(options, checkpoint)}"
        ) from None
    except SignalException as error:
        remove_unfinished(options.folder / CHECKPOINTS)
        number = signal.SIGINT if isinstance(error, Interrupt) else error.sigval
        raise RunInterruptedError(number, _way_on(options, None)) from None
    return statuses[0]


def _silence_torch() -> None:
    """Leave it to this module to tell what has become of the workers."""
    for name in [*logging.root.manager.loggerDict]:
        if name.startswith(("torch.distributed.elastic", "torch.multiprocessing")):
            logging.getLogger(name).setLevel(logging.CRITICAL)


def _reason(options: TrainingOptions, message: str | dict[str, Any]) -> str:
    """The last line of a worker's traceback, which is kept whole in a file, if it can be."""
    if isinstance(message, str):
        return "it ended without an error" if message.startswith(_NOTHING_TOLD) else message
    path = options.folder / FAILURE
    try:
        path.write_text(message.get("extraInfo", {}).get("py_callstack", ""))
    except OSError:  # what the worker failed of is worth more than this
        return message["message"]
    return f"{message['message']} (see {path})"


def _way_on(options: TrainingOptions, begun_from: Path | None) -> str:
    """The way to go on, if there is a checkpoint that was not begun from just now, and failed."""
    found = checkpoints(options.folder / CHECKPOINTS)
    if (
        options.replay
        or not found
        or (begun_from is not None and step_of(found[-1]) <= step_of(begun_from))
    ):
        return ""
    command = ["adagrain", "train", "--resume", "--name", options.name]
    if options.runs != TrainingOptions.runs:
        command += ["--runs", str(options.runs)]
    if options.record_run:
        command.append("--no-record-run")
    return f"; {shlex.join(command)} goes on from step {step_of(found[-1])}"

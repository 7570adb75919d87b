"""Starts the workers of a run with torchrun's own machinery, on this machine."""

import logging
import os
import uuid
from typing import Any

from torch.distributed.elastic.multiprocessing.api import SignalException
from torch.distributed.elastic.multiprocessing.errors import ChildFailedError
from torch.distributed.launcher.api import LaunchConfig, elastic_launch

from .options import TrainingOptions

__all__ = ["FAILURE", "RunFailedError", "launch"]

#: File in a run's folder with the whole traceback of a worker that failed.
FAILURE = "failure.txt"


class RunFailedError(RuntimeError):
    """A worker failed or the run was interrupted; no worker is left."""


def launch(options: TrainingOptions, *, resume: bool) -> None:
    """Run all workers to the end.

    Raises
    ------
    RunFailedError
        If a worker fails or dies, or the run gets SIGINT or SIGTERM. The others are ended; the
        message names the first worker that failed and its reason.
    """
    from . import worker

    os.environ.setdefault("OMP_NUM_THREADS", "1")
    logging.getLogger("torch.distributed.elastic").setLevel(logging.CRITICAL)
    logging.getLogger("torch.multiprocessing").setLevel(logging.CRITICAL)
    config = LaunchConfig(
        min_nodes=1,
        max_nodes=1,
        nproc_per_node=options.workers,
        run_id=uuid.uuid4().hex,
        rdzv_backend="c10d",
        rdzv_endpoint="127.0.0.1:0",
        local_addr="127.0.0.1",
        max_restarts=0,
        monitor_interval=0.2,
        start_method="spawn",
    )
    try:
        elastic_launch(config, worker.run)(options, resume)
    except ChildFailedError as error:
        rank, failure = error.get_first_failure()
        raise RunFailedError(
            f"worker {rank} failed, the others were ended: {_reason(options, failure.message)}"
            f"{_way_on(options)}"
        ) from None
    except SignalException as signal:
        name = signal.sigval.name
        raise RunFailedError(f"interrupted by {name}{_way_on(options)}") from None


def _reason(options: TrainingOptions, message: str | dict[str, Any]) -> str:
    """The last line of a worker's traceback, which is kept whole in a file."""
    if isinstance(message, str):
        return message
    trace = message.get("extraInfo", {}).get("py_callstack", "")
    (options.folder / FAILURE).write_text(trace)
    return f"{message['message']} (see {options.folder / FAILURE})"


def _way_on(options: TrainingOptions) -> str:
    if not options.checkpoint_every:
        return ""
    return "; the same command with --resume goes on from the newest checkpoint"

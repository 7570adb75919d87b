"""Starts the workers of a run with torchrun's own machinery, on this machine."""

import os
import uuid

from torch.distributed.elastic.multiprocessing.errors import ChildFailedError
from torch.distributed.launcher.api import LaunchConfig, elastic_launch

from .options import TrainingOptions

__all__ = ["RunFailedError", "launch"]


class RunFailedError(RuntimeError):
    """A worker failed, and the others were ended."""


def launch(options: TrainingOptions, *, resume: bool) -> None:
    """Run all workers to the end.

    Raises
    ------
    RunFailedError
        If a worker fails or dies; the message names the first one and its reason.
    """
    from . import worker

    os.environ.setdefault("OMP_NUM_THREADS", "1")
    config = LaunchConfig(
        min_nodes=1,
        max_nodes=1,
        nproc_per_node=options.workers,
        run_id=uuid.uuid4().hex,
        rdzv_backend="c10d",
        rdzv_endpoint="127.0.0.1:0",
        max_restarts=0,
        monitor_interval=0.2,
        start_method="spawn",
    )
    try:
        elastic_launch(config, worker.run)(options, resume)
    except ChildFailedError as error:
        rank, failure = error.get_first_failure()
        reason = failure.message if isinstance(failure.message, str) else ""
        detail = failure.message.get("message", "") if isinstance(failure.message, dict) else reason
        lines = detail.strip().splitlines()
        raise RunFailedError(
            f"worker {rank} failed with exit status {failure.exitcode}, the others were ended"
            + (f": {lines[-1]}" if lines else "")
        ) from None

"""One worker of a training run: its process group, and what it shows and leaves behind."""

import logging
import time
from contextlib import ExitStack
from pathlib import Path

import torch
import torch.distributed as dist
from rich.console import Console

from adagrain.host.distributed.process_group import leave_group

from . import checkpoint
from .counts import Counts
from .data import load
from .fingerprint import check_weights
from .interrupts import end_with_parent
from .metrics import Metrics, loss_of
from .options import TrainingOptions
from .progress import RunProgress
from .summary import summarise
from .training import Training
from .verdict import Verdict

__all__ = ["run"]


def run(options: TrainingOptions, start: Path | None) -> Verdict | None:
    """Train to the end; what rank 0 writes is in the run's folder.

    Parameters
    ----------
    options : TrainingOptions
        What to do; the same on all workers.
    start : Path or None
        Checkpoint to go on from.

    Returns
    -------
    Verdict or None
        Whether the run can be trusted; ``None`` on all workers but rank 0.
    """
    end_with_parent()
    logging.basicConfig(format=f"worker {dist.get_node_local_rank()}: %(message)s")
    torch.set_num_threads(1)
    accelerated = torch.cuda.is_available()
    if accelerated:
        torch.cuda.set_device(dist.get_node_local_rank(0) % torch.cuda.device_count())
    dist.init_process_group("nccl" if accelerated else "gloo")
    try:
        verdict = _Worker(options, start, "cuda" if accelerated else "cpu").train()
    except BaseException:
        dist.destroy_process_group()
        raise
    leave_group()
    return verdict


class _Worker:
    def __init__(self, options: TrainingOptions, start: Path | None, place: str) -> None:
        self._options = options
        self._training = Training(options, load(options.data), place)
        self._counts = Counts(self._training.handle.device)
        self._manifest = checkpoint.Manifest.of(options, self._training.network)
        self._accuracy: float | None = None
        self._seconds = 0.0
        if start is not None:
            self._resume(start)

    def train(self) -> Verdict | None:
        """All steps, then the summary."""
        first = dist.get_rank() == 0
        console = Console(quiet=not first)
        console.print(f"device: {self._training.handle.device.backend}")
        if self._training.granularity:
            console.print(f"forward passes: {self._training.granularity.forward_backend}")
        began = time.perf_counter() - self._seconds
        start, steps = self._training.step, self._options.steps
        with ExitStack() as stack:
            progress = stack.enter_context(RunProgress(console, steps, start))
            metrics = stack.enter_context(self._metrics()) if first else None
            while self._training.step < steps:
                log = self._training.advance()
                if metrics:
                    metrics.step(log, self._training.last_precisions)
                    self._evaluate(metrics)
                    progress.advance(self._training.step, loss_of(log), self._accuracy)
                self._seconds = time.perf_counter() - began
                if self._saves():
                    if metrics:
                        metrics.flush()
                    self._save()
        verdict = summarise(
            self._options,
            self._training,
            counts=self._counts.read(),
            accuracy=self._accuracy,
            seconds=self._seconds,
            console=console,
        )
        self._training.close()
        return verdict

    def _metrics(self) -> Metrics:
        folder, workers = self._options.folder, self._options.workers
        return Metrics(folder, workers=workers, start=self._training.step)

    def _evaluate(self, metrics: Metrics) -> None:
        """Measure the accuracy at the end of each epoch, and at the end of the run."""
        if self._training.ends_epoch or self._training.step == self._options.steps:
            self._accuracy = self._training.accuracy()
            metrics.evaluation(self._training.step - 1, self._accuracy)

    def _saves(self) -> bool:
        every, step = self._options.checkpoint_every, self._training.step
        return every > 0 and (step % every == 0 or step == self._options.steps)

    def _save(self) -> None:
        state = {
            "training": self._training.state_dict(),
            "counts": self._counts.read(),
            "accuracy": self._accuracy,
            "seconds": self._seconds,
        }
        folder = self._options.folder / checkpoint.CHECKPOINTS
        checkpoint.save(folder, self._training.step, state, self._manifest)

    def _resume(self, start: Path) -> None:
        state = checkpoint.load(start, self._manifest)
        self._training.load_state_dict(state["training"])
        check_weights(self._training.network)
        self._counts.resume(state["counts"])
        self._accuracy, self._seconds = state["accuracy"], state["seconds"]

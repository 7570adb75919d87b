"""One worker of a training run: its process group, and what it shows and leaves behind."""

import logging
import time
from contextlib import ExitStack

import torch
import torch.distributed as dist
from rich.console import Console

from adagrain.host.process_group import leave_group

from . import checkpoint
from .data import load
from .metrics import Metrics, loss_of
from .options import TrainingOptions
from .progress import RunProgress
from .summary import summarise
from .training import Training

__all__ = ["CHECKPOINTS", "run"]

#: Folder of the checkpoints in a run's folder.
CHECKPOINTS = "checkpoints"


def run(options: TrainingOptions, resume: bool) -> None:
    """Train to the end; what rank 0 writes is in the run's folder.

    Parameters
    ----------
    options : TrainingOptions
        What to do; the same on all workers.
    resume : bool
        Go on from the newest checkpoint.
    """
    logging.basicConfig(format="%(message)s")
    torch.set_num_threads(1)
    accelerated = torch.cuda.is_available()
    if accelerated:
        torch.cuda.set_device(dist.get_node_local_rank(0) % torch.cuda.device_count())
    dist.init_process_group("nccl" if accelerated else "gloo")
    try:
        _Worker(options, resume, "cuda" if accelerated else "cpu").train()
    except BaseException:
        dist.destroy_process_group()
        raise
    leave_group()


class _Worker:
    def __init__(self, options: TrainingOptions, resume: bool, place: str) -> None:
        self._options = options
        self._training = Training(options, load(options.data), place)
        self._manifest = checkpoint.Manifest.of(options, self._training.network)
        self._accuracy: float | None = None
        self._seconds = 0.0
        if resume:
            self._resume()

    def train(self) -> None:
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
        summarise(self._options, self._training, self._accuracy, self._seconds, console)
        self._training.close()

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
            "accuracy": self._accuracy,
            "seconds": self._seconds,
        }
        folder = self._options.folder / CHECKPOINTS
        checkpoint.save(folder, self._training.step, state, self._manifest)

    def _resume(self) -> None:
        folder = self._options.folder / CHECKPOINTS
        newest = checkpoint.latest(folder)
        if newest is None:
            raise checkpoint.CheckpointError(f"there is no complete checkpoint in {folder}")
        state = checkpoint.load(newest, self._manifest)
        self._training.load_state_dict(state["training"])
        self._accuracy, self._seconds = state["accuracy"], state["seconds"]

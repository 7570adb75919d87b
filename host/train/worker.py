"""One worker of a training run: its process group, and what it shows and leaves behind."""

import logging
import time
from contextlib import ExitStack
from pathlib import Path

import torch
import torch.distributed as dist

from adagrain.host.distributed.process_group import leave_group
from adagrain.host.telemetry.events import EvaluationEvent

from . import checkpoint
from .board import Board
from .counts import Counts
from .data import load
from .fingerprint import check_weights
from .history import History
from .interrupts import end_with_parent
from .metrics import METRICS, Metrics
from .options import TrainingOptions
from .progress import RunProgress
from .recorder import Recorder
from .recording import course_of
from .rows import loss_of
from .run_console import RunConsole
from .run_status import RunStatus
from .summary import summarise
from .training import Training

__all__ = ["run"]


def run(options: TrainingOptions, start: Path | None) -> RunStatus | None:
    """Train to the end; what rank 0 writes is in the run's folder.

    Parameters
    ----------
    options : TrainingOptions
        What to do; the same on all workers.
    start : Path or None
        Checkpoint to go on from.

    Returns
    -------
    RunStatus or None
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
        status = _Worker(options, start, "cuda" if accelerated else "cpu").train()
    except BaseException:
        dist.destroy_process_group()
        raise
    leave_group()
    return status


class _Worker:
    def __init__(self, options: TrainingOptions, start: Path | None, place: str) -> None:
        self._options = options
        self._training = Training(options, load(options.data), place, **course_of(options))
        self._counts = Counts(self._training.handle.run.device)
        self._manifest = checkpoint.Manifest.of(options, self._training.network)
        self._accuracy: float | None = None
        self._seconds = 0.0
        if start is not None:
            self._resume(start)

    def train(self) -> RunStatus | None:
        """All steps, then the summary."""
        first = dist.get_rank() == 0
        console = RunConsole(quiet=not first, stderr=bool(self._options.replay))
        console.print(f"device: {self._training.handle.run.device.backend}")
        if self._training.granularity:
            console.print(f"forward passes: {self._training.granularity.forward_backend}")
        began = time.perf_counter() - self._seconds
        start, steps = self._training.step, self._options.steps
        with ExitStack() as stack:
            history = self._recorded(stack) if first else None
            with RunProgress(console, steps, start) as progress:
                while self._training.step < steps:
                    log = self._training.advance()
                    measured = self._evaluate() if first else None
                    if first and log is not None:
                        progress.advance(self._training.step, loss_of(log), measured)
                    if self._saves() or self._training.step == steps:
                        self._training.settle()
                    self._seconds = time.perf_counter() - began
                    if self._saves():
                        self._training.events.flush()
                        self._save()
            self._training.finish()
            status = summarise(
                self._options,
                self._training,
                history=history,
                counts=self._counts.read(),
                accuracy=self._accuracy,
                seconds=self._seconds,
                console=console,
            )
            self._training.close()
        return status

    def _recorded(self, stack: ExitStack) -> History:
        """Have all that happens recorded from now on; the history of what did and will."""
        options, events, start = self._options, self._training.events, self._training.step
        folder, workers = options.folder, options.workers
        metrics = Metrics(
            *(folder, start, self._training.told), workers=workers, granular=options.granular
        )
        events.add(stack.enter_context(metrics))
        events.add(stack.enter_context(Board(folder, workers=workers, start=start)))
        history = History.read(folder / METRICS)
        events.add(Recorder(history, workers=workers))
        return history

    def _evaluate(self) -> float | None:
        """The accuracy after a pass over the data, and at the end of the run; else ``None``."""
        if not self._training.ends_epoch and self._training.step != self._options.steps:
            return None
        self._accuracy = self._training.accuracy()
        self._training.events.evaluation(EvaluationEvent(self._training.step - 1, self._accuracy))
        return self._accuracy

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

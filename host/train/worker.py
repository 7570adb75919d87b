"""One worker of a training run."""

import logging
import time
from contextlib import ExitStack
from typing import Any

import torch
import torch.distributed as dist
from rich.console import Console
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from adagrain.host.ddp import Handle, register
from adagrain.host.reducer import StepLog
from adagrain.host.timing import Timing
from adagrain.models.records import CadencePolicy

from . import checkpoint
from .data import Dataset, load
from .metrics import Metrics
from .networks import build
from .options import TrainingOptions
from .progress import RunProgress
from .schedule import schedule
from .shards import Shards
from .summary import summarise

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
    dist.init_process_group("nccl" if accelerated else "gloo")
    if accelerated:
        torch.cuda.set_device(dist.get_rank() % torch.cuda.device_count())
    try:
        _Worker(options, resume, "cuda" if accelerated else "cpu").train()
    finally:
        dist.destroy_process_group()


class _Worker:
    def __init__(self, options: TrainingOptions, resume: bool, place: str) -> None:
        self.options = options
        self.rank = dist.get_rank()
        self.data = load(options.data)
        self.place = place
        self.network = build(self.data, options.seed).to(place)
        self.model = DistributedDataParallel(self.network)
        sgd = torch.optim.SGD(
            self.network.parameters(),
            lr=options.learning_rate,
            momentum=options.momentum,
            weight_decay=options.weight_decay,
        )
        self.scheduler = schedule(sgd, steps=options.steps, warmup=options.warmup)
        self.handle = _register(self.model, sgd, options)
        self.shards = Shards(
            len(self.data.inputs),
            batch=options.batch,
            workers=options.workers,
            rank=self.rank,
            seed=options.seed,
        )
        self.manifest = checkpoint.Manifest.of(options, self.network)
        self.seconds = 0.0
        if resume:
            self._resume()

    @property
    def step(self) -> int:
        """Steps taken so far."""
        return self.handle.reducer.step

    def train(self) -> None:
        """All steps, then the summary."""
        console = Console(quiet=self.rank != 0)
        console.print(f"device: {self.handle.device.backend}")
        began = time.perf_counter() - self.seconds
        accuracy = None
        with ExitStack() as stack:
            progress = stack.enter_context(RunProgress(console, self.options.steps, self.step))
            metrics = stack.enter_context(self._metrics()) if self.rank == 0 else None
            while self.step < self.options.steps:
                log = self._one_step()
                if metrics:
                    metrics.step(log)
                    if self._evaluates():
                        accuracy = _accuracy(self.network, self.data, self.place)
                        metrics.evaluation(self.step - 1, accuracy)
                    progress.advance(self.step, (log.agreed.loss or 0) / 65536, accuracy)
                self.seconds = time.perf_counter() - began
                if self._saves():
                    if metrics:
                        metrics.flush()
                    self._save()
        summarise(self.options, self.handle, self.network, accuracy, self.seconds, console)
        self.handle.close()
        dist.barrier()  # nobody leaves while another still talks to it

    def _one_step(self) -> StepLog:
        batch = self.shards.next()
        inputs = self.data.inputs[batch].to(self.place)
        labels = self.data.labels[batch].to(self.place)
        self.handle.optimizer.zero_grad()
        loss = nn.functional.cross_entropy(self.model(inputs), labels)
        self.handle.loss(loss).backward()
        self.handle.optimizer.step()
        self.scheduler.step()
        return self.handle.last_step

    def _metrics(self) -> Metrics:
        return Metrics(self.options.folder, workers=self.options.workers, start=self.step)

    def _evaluates(self) -> bool:
        return self.step % self.shards.steps_per_epoch == 0 or self.step == self.options.steps

    def _saves(self) -> bool:
        every = self.options.checkpoint_every
        return every > 0 and (self.step % every == 0 or self.step == self.options.steps)

    def _save(self) -> None:
        state = {
            "network": self.network.state_dict(),
            "handle": self.handle.state_dict(),
            "scheduler": self.scheduler.state_dict(),
            "shards": self.shards.state_dict(),
            "seconds": self.seconds,
        }
        checkpoint.save(self.options.folder / CHECKPOINTS, self.step, state, self.manifest)

    def _resume(self) -> None:
        newest = checkpoint.latest(self.options.folder / CHECKPOINTS)
        if newest is None:
            raise checkpoint.CheckpointError(
                f"there is no complete checkpoint in {self.options.folder / CHECKPOINTS}"
            )
        state: dict[str, Any] = checkpoint.load(newest, self.manifest)
        self.network.load_state_dict(state["network"])
        self.handle.load_state_dict(state["handle"])
        self.scheduler.load_state_dict(state["scheduler"])
        self.shards.load_state_dict(state["shards"])
        self.seconds = state["seconds"]


def _register(
    model: DistributedDataParallel, optimizer: torch.optim.Optimizer, options: TrainingOptions
) -> Handle:
    decides = options.preset == "cadence"
    return register(
        model,
        optimizer,
        device=options.device.format(rank=dist.get_rank()),
        preset=options.device_preset,
        by=options.by,
        cap=options.cap,
        cadence=CadencePolicy.NOISE if decides else None,
        cadence_max=options.cadence_max if decides else 1,
        epoch_steps=options.epoch_steps,
        parameters={"noise": min(65535, round(options.noise * 256))},
        timing=Timing.parse(options.timing),
    )


@torch.no_grad()
def _accuracy(network: nn.Module, data: Dataset, place: str) -> float:
    """Part of the test samples that is classified right."""
    right = 0
    for inputs, labels in zip(
        data.test_inputs.split(1024), data.test_labels.split(1024), strict=True
    ):
        right += int((network(inputs.to(place)).argmax(dim=1).cpu() == labels).sum())
    return right / len(data.test_labels)

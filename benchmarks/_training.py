"""Runs many trainings on the same workers, which are started once."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from _workers import free_port

from adagrain.host.distributed.process_group import leave_group
from adagrain.host.train.data import load
from adagrain.host.train.fingerprint import weights_sha256
from adagrain.host.train.options import TrainingOptions
from adagrain.host.train.training import Training

__all__ = ["Job", "Outcome", "train_all"]


@dataclass(frozen=True)
class Job:
    """One training.

    Parameters
    ----------
    options : TrainingOptions
        What to do.
    policy : dict
        Options of the reducer in place of those that the training preset stands for.
    """

    options: TrainingOptions
    policy: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Outcome:
    """Outcome of a training.

    Parameters
    ----------
    accuracy : float
        In percent.
    bytes_sent, bytes_dense : int
        Bytes of gradients that the first worker has sent in the whole run, and what a dense
        exchange in each step would have.
    trials, accepts : int
        Guesses of the first worker that were judged, and those of them that were accepted.
    cadences : dict of str to int
        Of each region, at the end.
    weights_sha256 : str
        Of all weights at the end.
    """

    accuracy: float
    bytes_sent: int
    bytes_dense: int
    trials: int
    accepts: int
    cadences: dict[str, int]
    weights_sha256: str

    @property
    def bytes_ratio(self) -> float:
        """Bytes that were sent, as a part of dense ones."""
        return self.bytes_sent / self.bytes_dense


def train_all(
    jobs: Sequence[Job], *, workers: int = 2, progress: Callable[[int], None] = lambda done: None
) -> list[Outcome]:
    """The outcomes of all jobs, in order; really distributed, over gloo.

    Parameters
    ----------
    jobs : sequence of Job
        All on the same number of workers.
    workers : int
        That number.
    progress : callable
        Called with 1 whenever another job is done.
    """
    queue = mp.get_context("spawn").SimpleQueue()
    running = mp.spawn(_work, (workers, free_port(), jobs, queue), nprocs=workers, join=False)
    outcomes = []
    while len(outcomes) < len(jobs):
        if queue.empty():
            running.join(0.1)  # raises what a worker raised
            continue
        outcomes.append(queue.get())
        progress(1)
    while not running.join():
        pass
    return outcomes


def _work(rank: int, workers: int, port: int, jobs: Sequence[Job], queue: Any) -> None:
    os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    torch.set_num_threads(1)
    dist.init_process_group("gloo", rank=rank, world_size=workers)
    for job in jobs:
        outcome = _train(job)
        if rank == 0:
            queue.put(outcome)
    leave_group()


def _train(job: Job) -> Outcome:
    training = Training(job.options, load(job.options.data), **job.policy)
    while training.step < job.options.steps:
        training.advance()
    handle = training.handle
    accuracy, counts = 100 * training.accuracy(), handle.guesses
    outcome = Outcome(
        accuracy=accuracy,
        bytes_sent=handle.run.bytes_sent,
        bytes_dense=handle.run.bytes_dense,
        trials=sum(counts.trials.values()),
        accepts=sum(counts.accepts.values()),
        cadences=handle.run.cadences,
        weights_sha256=weights_sha256(training.network),
    )
    training.close()
    return outcome

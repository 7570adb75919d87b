"""Link between the workers, as their collectives find it."""

import time
from typing import NamedTuple

import torch
import torch.distributed as dist

from adagrain.host.distributed.all_reduce import AllReduce
from adagrain.host.distributed.lost import waited_for

__all__ = ["Link", "measured_link"]

#: Bytes of the least collective, and how often it is timed. (Gloo takes half as many turns for
#: some bytes only; buckets have more.)
_LEAST, _REPEATS = 1 << 13, 2

#: Bytes of the first larger one; each further one has so many times more.
_FIRST, _GROWTH = 1 << 16, 4

#: Seconds per byte, at least.
_FASTEST = 1e-12

#: Seconds after which no larger one is begun.
_ENOUGH = 0.4


class Link(NamedTuple):
    """An all-reduce of n bytes takes ``latency + n * seconds_per_byte``, if it is alone.

    It does so in some ``turns``: a part of the bytes goes to the next worker, which then sends one.
    Of up to ``short`` bytes it takes half of them.
    """

    latency: float
    seconds_per_byte: float
    turns: int
    short: int = 0

    def turns_of(self, size: int) -> int:
        """Turns of so many bytes."""
        return self.turns // 2 if size <= self.short else self.turns


def measured_link(group: dist.ProcessGroup | None, like: torch.Tensor, most: int) -> Link:
    """Time a few all-reduces of growing sizes; all workers find the same figures.

    It takes about a second on a link of 50 ms one way, and less on one that is faster.

    Parameters
    ----------
    group : ProcessGroup or None
        The workers; all of them call this at the same time.
    like : Tensor
        What is exchanged later, for its place.
    most : int
        Bytes that are exchanged later, in all: no collective has many more.

    Raises
    ------
    WorkerLostError
        If another worker is not there any more.
    """
    timer = _Timer(group, like)
    least = min(timer.seconds(_LEAST) for _ in range(_REPEATS))
    size = _FIRST
    timer.seconds(size)  # connections find their rate
    while timer.passed < _ENOUGH and size < most:
        size = min(size * _GROWTH, most)
        timer.seconds(size)
    transfer = max(0.0, timer.seconds(size) - least) / (size - _LEAST)
    latency = max(0.0, least - transfer * _LEAST)
    found = torch.tensor([latency, transfer], dtype=torch.float64, device=like.device)
    workers = dist.get_world_size(group)
    latency, transfer = _mean(found, group).tolist()
    short = int(latency / max(transfer, _FASTEST)) if workers == 2 else 0
    return Link(latency, transfer, max(1, 4 * (workers - 1)), short)


class _Timer:
    """Times collectives. Each of them tells the workers how long all has taken, too."""

    def __init__(self, group: dist.ProcessGroup | None, like: torch.Tensor) -> None:
        self._group, self._like = group, like
        self._began = time.perf_counter()
        self.passed = 0.0  #: seconds before the last one, in the mean over the workers

    def seconds(self, size: int) -> float:
        """Seconds that one of so many bytes has taken on this worker."""
        began = time.perf_counter()
        told = torch.full((max(1, size // 8),), began - self._began, dtype=torch.float64)
        self.passed = float(_mean(told.to(self._like.device), self._group)[0])
        return time.perf_counter() - began


def _mean(tensor: torch.Tensor, group: dist.ProcessGroup | None) -> torch.Tensor:
    with waited_for("the measurement of the link"):
        AllReduce(tensor, group, short=0).wait()
    return tensor / dist.get_world_size(group)

"""A worker of the benchmark of bucket caps: times steps of plain DDP, and tells line by line."""

import json
import sys
import time
from typing import Any

import torch
import torch.distributed as dist
from _padded import Padded, convolutions
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from adagrain.host.distributed.process_group import leave_group
from adagrain.host.train.data import Dataset, load

#: Steps before those that count: buckets are laid out anew, connections find their rates.
WARM_UP = 4

BATCH, RATE, MOMENTUM = 32, 0.05, 0.9


class Steps:
    """A training that goes on step by step.

    Parameters
    ----------
    model : nn.Module
        The network, or the same in DDP.
    data : Dataset
        What it learns.
    seed : int
        Of the batches.
    """

    def __init__(self, model: nn.Module, data: Dataset, seed: int) -> None:
        self._model, self._data = model, data
        self._optimizer = torch.optim.SGD(model.parameters(), lr=RATE, momentum=MOMENTUM)
        self._generator = torch.Generator().manual_seed(1000 * seed + dist.get_rank())

    def take(self, count: int) -> float:
        """Seconds of a step in the mean of so many, from where all workers are ready."""
        dist.barrier()
        began = time.perf_counter()
        for _ in range(count):
            chosen = torch.randint(len(self._data.inputs), (BATCH,), generator=self._generator)
            self._optimizer.zero_grad()
            outputs = self._model(self._data.inputs[chosen])
            nn.functional.cross_entropy(outputs, self._data.labels[chosen]).backward()
            self._optimizer.step()
        return (time.perf_counter() - began) / count


def model_of(cap: str, job: dict[str, Any]) -> nn.Module:
    """The network in DDP with a cap of its buckets in MB or the ``default`` one, or ``alone``."""
    network = Padded(convolutions(), job["forward_ms"], job["backward_ms"])
    if cap == "alone":
        return network
    options: dict[str, Any] = {} if cap == "default" else {"bucket_cap_mb": float(cap)}
    return DistributedDataParallel(network, **options)


def main() -> None:
    job = json.loads(sys.argv[1])
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    data = load("digits")
    for repeat in range(job["repeats"]):
        for cap in job["caps"]:
            torch.manual_seed(repeat)
            steps = Steps(model_of(cap, job), data, repeat)
            steps.take(WARM_UP)
            seconds = steps.take(job["steps"])
            if dist.get_rank() == 0:
                print(json.dumps({"cap": cap, "seconds": seconds}), flush=True)
    leave_group()


if __name__ == "__main__":
    main()

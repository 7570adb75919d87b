"""A worker of the benchmark of compression: trains each way in turn, tells of it line by line."""

import json
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import product
from typing import Any

import torch
import torch.distributed as dist
from _compression_ways import TASKS, WAYS, Task
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from adagrain.host.distributed.process_group import leave_group

#: Times that what is held out is looked at.
LOOKS = 15

#: One bucket: PowerSGD's collectives of two buckets can meet in different orders.
BUCKET = 64


@contextmanager
def counted(found: list[int]) -> Iterator[None]:
    """Count the bytes that this worker puts into collectives."""
    old = dist.all_reduce, dist.all_gather

    def all_reduce(tensor: torch.Tensor, *args: Any, **named: Any) -> Any:
        found.append(tensor.nbytes)
        return old[0](tensor, *args, **named)

    def all_gather(others: Any, tensor: torch.Tensor, *args: Any, **named: Any) -> Any:
        found.append(tensor.nbytes)
        return old[1](others, tensor, *args, **named)

    dist.all_reduce, dist.all_gather = all_reduce, all_gather
    try:
        yield
    finally:
        dist.all_reduce, dist.all_gather = old


def spent_in(mask: Any, found: list[float]) -> None:
    """Have a mask tell the processor's seconds that it takes."""

    def timed(call: Callable[..., Any], *args: Any) -> Any:
        began = time.process_time()
        answer = call(*args)
        found.append(time.process_time() - began)
        return answer

    for name in ("look", "keep", "heard", "probed", "end_pass"):
        if hasattr(mask, name):
            setattr(mask, name, partial(timed, getattr(mask, name)))


def trained(task: Task, way: str, steps: int, seed: int = 0) -> dict[str, Any]:
    """Losses, seconds and bytes of a training; of the processor's seconds the mask's part."""
    torch.manual_seed(seed)
    model = DistributedDataParallel(task.make(), bucket_cap_mb=BUCKET)
    state = WAYS[way](model)
    optimizer = torch.optim.SGD(model.parameters(), lr=task.rate, momentum=0.9)
    generator = torch.Generator().manual_seed(seed * dist.get_world_size() + dist.get_rank())
    x, y = task.held_out()
    every = max(1, steps // LOOKS)
    losses, seconds, found, masking = [], [], list[int](), list[float]()
    passed = busy = 0.0
    if state is not None:
        spent_in(state.exchange.mask, masking)
    with counted(found):
        for step in range(steps):
            began, worked = time.perf_counter(), time.process_time()
            optimizer.zero_grad()
            inputs, labels = task.batch(generator)
            nn.functional.cross_entropy(model(inputs), labels).backward()
            optimizer.step()
            passed += time.perf_counter() - began
            busy += time.process_time() - worked
            if (step + 1) % every == 0:
                with torch.no_grad():
                    losses.append(nn.functional.cross_entropy(model.module(x), y).item())
                seconds.append(passed)
                dist.barrier()
    outcome = {"loss": losses[-1], "losses": losses, "seconds": seconds, "bytes": sum(found)}
    if state is not None:
        assert state.bytes_sent == sum(found)
        outcome["overflows"] = state.counts.overflows
        outcome["masking"] = sum(masking) / busy
        outcome["bypass"] = any(made.bypass for made in state.decisions)
    return outcome


def main() -> None:
    job = json.loads(sys.argv[1])
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    for task, steps in job["tasks"].items():
        trained(TASKS[task], "threshold_1%", 2)  # compiles
        for seed, way in product(job["seeds"], job["ways"]):
            outcome = trained(TASKS[task], way, steps, seed)
            if dist.get_rank() == 0:
                print(json.dumps({"task": task, "way": way, "seed": seed, **outcome}), flush=True)
    leave_group()


if __name__ == "__main__":
    main()

"""A worker of the benchmark of compression: trains each way in turn, tells of it line by line."""

import json
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from functools import partial
from typing import Any

import torch
import torch.distributed as dist
from _compression_ways import MOMENTUM, PERIODS, TASKS, WAYS, Task, optimizer_of, rate_of
from _local_steps import in_their_mean
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.optim.lr_scheduler import LinearLR

from adagrain.host.distributed.process_group import leave_group

#: Times that what is held out is looked at in the steps of the first way, where seconds count;
#: elsewhere once, at the end.
LOOKS = 30

#: Times the steps of the first way that others have to reach its loss.
MOST = 2

#: Calls of a mask: the one that chooses what is kept, and what it learns from.
CALLS = "keep", "look", "heard", "sample", "probed", "end_pass"

#: Steps behind which all is compiled: a mask that learns has looked twice, and found its price.
WARM = 12

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


def spent_in(mask: Any) -> dict[str, float]:
    """Have a mask tell, by its calls, the processor's seconds that they take.

    What it takes to look at the clock, which such a call would have too if it did nothing, is
    found beside each of them, and left out.
    """
    spent = {name: 0.0 for name in CALLS if hasattr(mask, name)}

    def timed(name: str, call: Callable[..., Any], *args: Any) -> Any:
        looked = time.thread_time()
        began = time.thread_time()
        answer = call(*args)
        spent[name] += time.thread_time() - began - (began - looked)
        return answer

    for name in spent:
        setattr(mask, name, partial(timed, name, getattr(mask, name)))
    return spent


def trained(
    task: Task,
    way: str,
    steps: int,
    every: int,
    seed: int = 0,
    wanted: tuple[float, int] | None = None,
) -> dict[str, Any]:
    """Losses, seconds and bytes of a training, to its end or until a loss is reached.

    Parameters
    ----------
    task, way
        What is trained, and how gradients are exchanged.
    steps : int
        The most steps.
    every : int
        Steps from one look at what is held out to the next.
    seed : int
        Of weights and batches.
    wanted : (float, int) or None
        The loss, and the fewest steps.
    """
    torch.manual_seed(seed)
    model = DistributedDataParallel(task.make(), bucket_cap_mb=BUCKET)
    state = WAYS[way](model)
    descent = torch.optim.SGD(model.parameters(), lr=rate_of(way, task), momentum=MOMENTUM)
    schedule = LinearLR(descent, 1.0, task.last_rate, steps)
    optimizer = optimizer_of(way, model, descent)
    generator = torch.Generator().manual_seed(1000 * seed + dist.get_rank())
    x, y = task.held_out()
    losses, seconds, found = [], [], list[int]()
    passed, busy, step = 0.0, 0.0, 0
    enough, fewest = wanted or (float("-inf"), steps)
    spent = spent_in(state.exchange.mask) if state is not None else {}
    while step < fewest or (step < steps and min(losses) > enough):
        began, worked = time.perf_counter(), time.process_time()
        with counted(found):
            optimizer.zero_grad()
            inputs, labels = task.batch(generator)
            nn.functional.cross_entropy(model(inputs), labels).backward()
            optimizer.step()
            schedule.step()
        passed += time.perf_counter() - began
        busy += time.process_time() - worked
        step += 1
        if step % every == 0:
            with in_their_mean(model.module) if way in PERIODS else nullcontext():
                losses.append(_loss(model.module, x, y))
            seconds.append(passed)
    outcome = {"loss": losses[-1], "losses": losses, "seconds": seconds}
    outcome |= {"steps": step, "bytes": sum(found)}
    if state is not None:
        assert state.bytes_sent == sum(found)
        outcome["overflows"] = state.counts.overflows
        outcome["masking"] = sum(spent.values()) / busy
        outcome["learning"] = outcome["masking"] - spent["keep"] / busy
        outcome["bypass"] = any(made.bypass for made in state.decisions)
    return outcome


def _loss(network: nn.Module, x: torch.Tensor, y: torch.Tensor) -> float:
    """What a network, the same on all workers, makes of what is held out."""
    with torch.no_grad():
        return nn.functional.cross_entropy(network(x), y).item()


def main() -> None:
    job = json.loads(sys.argv[1])
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    for task, steps in job["tasks"].items():
        for way in job["ways"]:
            trained(TASKS[task], way, WARM, WARM)  # compiles, and loads what is compiled
        every = max(1, steps // LOOKS) if job["to_loss"] else steps
        for seed in job["seeds"]:
            wanted, most = None, steps
            for way in job["ways"]:
                outcome = trained(TASKS[task], way, most, every, seed, wanted)
                if dist.get_rank() == 0:
                    told = {"task": task, "way": way, "seed": seed, **outcome}
                    print(json.dumps(told), flush=True)
                if job["to_loss"] and wanted is None:
                    wanted, most = (outcome["loss"], steps), MOST * steps
    leave_group()


if __name__ == "__main__":
    main()

"""A worker of the benchmark of time to a loss: trains each way, and tells of each line by line."""

import json
import sys
import time
from contextlib import nullcontext
from typing import Any

import torch
import torch.distributed as dist
from _local_steps import in_their_mean
from _speculation_ways import Way, made
from torch import nn

from adagrain.host.distributed.process_group import leave_group
from adagrain.host.train.data import Dataset, load

#: Times that what is held out is looked at in the steps of the first way. In front of each one the
#: last update is waited for, so few are fairer.
LOOKS = 12

#: Times the steps of the first way that others have to reach its loss.
MOST = 2


def trained(way: Way, data: Dataset, steps: int, wanted: float | None) -> dict[str, Any]:
    """Train for so many steps, and on until a loss is reached, within :data:`MOST` times as many.

    Parameters
    ----------
    way : Way
        How.
    data : Dataset
        What it learns.
    steps : int
        After these the accuracy is taken.
    wanted : float or None
        The loss; ``None``: as many steps as were asked for, and no more.

    Returns
    -------
    dict
        Loss, accuracy and milliseconds of a step after the steps, and ``curve``: by look, seconds
        of training and loss.
    """
    seconds, reached, every, taken = 0.0, wanted is None, max(1, steps // LOOKS), 0
    outcome: dict[str, Any] = {"curve": []}
    while taken < steps or (not reached and taken < MOST * steps):
        began = time.perf_counter()
        for _ in range(every):
            way.step()
        way.settle()
        seconds += time.perf_counter() - began
        taken += every
        loss, accuracy = looked(way, data)
        outcome["curve"].append((seconds, loss))
        reached = reached or (wanted is not None and loss <= wanted)
        if taken == steps:
            outcome |= {"loss": loss, "accuracy": accuracy, "ms": 1e3 * seconds / steps}
    return outcome


def looked(way: Way, data: Dataset) -> tuple[float, float]:
    """Loss and accuracy in percent, on what is held out, of the network that all have trained."""
    with nullcontext() if way.alike else in_their_mean(way.network), torch.no_grad():
        outputs = way.network(data.test_inputs)
        right = 100 * (outputs.argmax(1) == data.test_labels).float().mean()
        return nn.functional.cross_entropy(outputs, data.test_labels).item(), right.item()


def main() -> None:
    job = json.loads(sys.argv[1])
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    data = load("digits")
    steps = LOOKS * max(1, job["steps"] // LOOKS)
    for seed in range(job["seeds"]):
        wanted = None
        for name in job["ways"]:
            way = made(name, "convolutions", job["passes"], job["tau"], seed)
            outcome = trained(way, data, steps, wanted)
            wanted = outcome["loss"] if wanted is None else wanted
            if dist.get_rank() == 0:
                print(json.dumps({"way": name, "seed": seed, **outcome}), flush=True)
    leave_group()


if __name__ == "__main__":
    main()

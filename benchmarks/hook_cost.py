"""What ``register`` costs a script in a step, against plain DistributedDataParallel.

Two workers on gloo train alike networks in turns, one thread each: plain, with all cadences at 1,
and with cadences that the golden device chooses up to 4. The medians of the same rounds.
"""

import os
import socket
import statistics
import time
from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from _report import report
from rich.progress import track
from torch import nn
from torch.nn.parallel import DistributedDataParallel

import adagrain
from adagrain.host.distributed.process_group import leave_group

WORKERS, ROUNDS, WARM_UP = 2, 120, 8

#: Ways to train, and the options of ``register``.
WAYS: dict[str, dict[str, Any] | None] = {
    "plain": None,
    "cadence_1": {"cadence_max": 1},
    "cadence_to_4": {"cadence_max": 4},
}


def _mlp(width: int) -> nn.Module:
    return nn.Sequential(
        nn.Linear(64, width),
        nn.ReLU(),
        nn.Linear(width, width),
        nn.ReLU(),
        nn.Linear(width, 10),
    )


def _convolutions() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(3, 32, 3, stride=2, padding=1),
        nn.ReLU(),
        nn.Conv2d(32, 64, 3, stride=2, padding=1),
        nn.ReLU(),
        nn.Conv2d(64, 128, 3, stride=2, padding=1),
        nn.ReLU(),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(128, 10),
    )


#: Networks, and the shapes of their inputs.
NETWORKS: dict[str, tuple[Callable[[], nn.Module], tuple[int, ...]]] = {
    "mlp_0.1M": (lambda: _mlp(256), (32, 64)),
    "mlp_4M": (lambda: _mlp(2048), (32, 64)),
    "convolutions_0.1M": (_convolutions, (16, 3, 32, 32)),
}


def main() -> None:
    """Measure all networks."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    queue = mp.get_context("spawn").SimpleQueue()
    mp.spawn(_work, (port, queue), nprocs=WORKERS)
    report("hook_cost", queue.get())


def _work(rank: int, port: int, queue: Any) -> None:
    os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    torch.set_num_threads(1)
    dist.init_process_group("gloo", rank=rank, world_size=WORKERS)
    figures = {}
    for network, (make, shape) in NETWORKS.items():
        times = _measured(network, make, shape, silent=rank > 0)
        plain = times.pop("plain")
        figures[f"plain_{network}_ms"] = 1e3 * plain
        figures |= {f"{way}_to_plain_{network}": found / plain for way, found in times.items()}
    if rank == 0:
        queue.put(figures)
    leave_group()


def _measured(
    network: str, make: Callable[[], nn.Module], shape: tuple[int, ...], *, silent: bool
) -> dict[str, float]:
    """Median seconds of a step, by way."""
    generator = torch.Generator().manual_seed(dist.get_rank())
    x = torch.randn(shape, generator=generator)
    y = torch.randint(10, shape[:1], generator=generator)
    steps = {way: _training(make, options, x, y) for way, options in WAYS.items()}
    times: dict[str, list[float]] = {way: [] for way in steps}
    for _ in track(range(ROUNDS + WARM_UP), network, disable=silent):
        for way, step in steps.items():
            dist.barrier()
            began = time.perf_counter()
            step()
            times[way].append(time.perf_counter() - began)
    return {way: statistics.median(found[WARM_UP:]) for way, found in times.items()}


def _training(
    make: Callable[[], nn.Module], options: dict[str, Any] | None, x: torch.Tensor, y: torch.Tensor
) -> Callable[[], None]:
    torch.manual_seed(0)
    model = DistributedDataParallel(make())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    if options is not None:
        adagrain.register(model, optimizer, **options)

    def step() -> None:
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()

    return step


if __name__ == "__main__":
    main()

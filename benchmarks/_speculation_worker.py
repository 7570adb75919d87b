"""A worker of the benchmark of speculation: times steps of each way, and tells line by line."""

import json
import sys
import time
from typing import Any

import torch
import torch.distributed as dist
from _speculation_ways import SPECULATION, Way, made

from adagrain.host.distributed.process_group import leave_group

#: Steps in front of each turn: connections that were idle find their rates.
WARM_UP = 4

#: Seconds for which nothing is sent, so that the bytes of a turn can be counted.
SILENCE = 0.1


def turn(name: str, way: Way, steps: int) -> None:
    """Take steps, and tell of them; whole periods are timed, and bytes are those of whole ones."""
    timed = -(-steps // way.period) * way.period
    rest = -(WARM_UP + timed) % way.period
    tell({"way": name, "begins": WARM_UP + timed + rest})
    take(way, WARM_UP)
    dist.barrier()
    began = time.perf_counter()
    take(way, timed)
    seconds = (time.perf_counter() - began) / timed
    take(way, rest)
    way.settle()
    tell({"way": name, "seconds": seconds, **way.facts()})


def take(way: Way, steps: int) -> None:
    for _ in range(steps):
        way.step()


def tell(told: dict[str, Any]) -> None:
    """Tell in a silence."""
    time.sleep(SILENCE)
    if dist.get_rank() == 0:
        print(json.dumps(told), flush=True)
    time.sleep(SILENCE)
    dist.barrier()


def main() -> None:
    job = json.loads(sys.argv[1])
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    ways = {name: made(name, job["net"], job["passes"], job["tau"]) for name in job["ways"]}
    for name, way in ways.items():
        take(way, job["settling"] if name in SPECULATION else WARM_UP)
        way.settle()
    for _ in range(job["repeats"]):
        for name, way in ways.items():
            turn(name, way, job["steps"])
    leave_group()


if __name__ == "__main__":
    main()

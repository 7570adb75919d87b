"""A worker in a network lab: times all-reduces of some sizes, and tells of them line by line."""

import json
import sys
import time

import torch
import torch.distributed as dist

from adagrain.host.distributed.process_group import leave_group


def seconds_of(size: int) -> float:
    """How long one all-reduce takes, from where all workers are ready."""
    tensor = torch.zeros(size // 4)
    dist.barrier()
    began = time.perf_counter()
    dist.all_reduce(tensor)
    return time.perf_counter() - began


def main() -> None:
    job = json.loads(sys.argv[1])
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    for size in job["sizes"]:
        seconds_of(size)  # connections find their rates
        seconds = [seconds_of(size) for _ in range(job["repeats"])]
        if dist.get_rank() == 0:
            print(json.dumps({"bytes": size, "seconds": seconds}), flush=True)
    leave_group()


if __name__ == "__main__":
    main()

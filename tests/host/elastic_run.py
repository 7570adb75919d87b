"""A run that torchrun's elastic agent starts again after each fault, from its checkpoints.

Its argument says in JSON what happens. Workers are forked from this process, which has imported all
that they need. Its last line tells the weights of each worker, and where each attempt began.
"""

import datetime
import json
import os
import random
import signal
import sys
import threading
import uuid
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from broken_collectives import FAULTS, BrokenCollectives
from speculation_judges import digest
from speculation_setup import begun, plain, several, sgd
from torch.distributed.launcher.api import LaunchConfig, elastic_launch

import adagrain
from adagrain.host.distributed.process_group import leave_group

STEPS, EVERY, TIME_OUT = 24, 3, 3.0

#: Beside the faults of collectives: killed at some time, whatever it does then.
KILLED_AT_ANY_TIME = "killed at any time"

#: Collectives and seconds in which a fault happens.
_CALLS, _SECONDS = 60, 0.5


def work(job: dict[str, Any]) -> str:
    """Be a worker; SHA-256 of its weights and buffers."""
    torch.set_num_threads(1)
    dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=TIME_OUT))
    rank, attempt = dist.get_rank(), int(os.environ["TORCHELASTIC_RESTART_COUNT"])
    killer = None
    if attempt < job["faults"]:
        killer = break_something(random.Random(f"{job['seed']} {attempt}"), job["workers"])
    torch.manual_seed(7)
    model = plain()
    optimizer = sgd(model)
    checkpoints = adagrain.Checkpoints(job["folder"])
    speculation = begun(
        *(model, optimizer),
        tau=0.0,
        bucket_bytes=2048,
        looks=several(9, attempt),
        compare_weights=1,
    )
    first = 0
    if found := checkpoints.load():
        first, state = found
        model.load_state_dict(state["model"])
        speculation.load_state_dict(state["speculation"])
    (Path(job["folder"]) / f"began.{attempt}.{rank}").write_text(str(first))
    for step in range(first, STEPS):
        torch.manual_seed(100 * step + rank)
        batch = torch.randn(16, 12)
        speculation.step(lambda x=batch: model(x).square().mean())
        if (step + 1) % EVERY == 0:
            parts = {"model": model, "speculation": speculation}
            checkpoints.save(step + 1, {name: part.state_dict() for name, part in parts.items()})
    speculation.close()
    leave_group()
    if killer is not None:
        killer.cancel()  # torch's agent hangs where a worker that has ended is killed
    return digest(model.state_dict().values())


def break_something(chosen: random.Random, workers: int) -> threading.Timer | None:
    """Have one of the faults happen to some of the workers, who draw the same; what kills this one.

    Returns
    -------
    Timer or None
        Where it is killed at some time.
    """
    fault = chosen.choice([*(name for name in FAULTS if name != "stopped"), KILLED_AT_ANY_TIME])
    ranks = chosen.sample(range(workers), chosen.randint(1, workers))
    at, seconds = chosen.randrange(_CALLS), chosen.uniform(0, _SECONDS)
    if dist.get_rank() not in ranks:
        return None
    if fault == KILLED_AT_ANY_TIME:
        killer = threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGKILL))
        killer.start()
        return killer
    BrokenCollectives(fault, at, TIME_OUT).arm()
    return None


def _attempt(path: Path) -> int:
    """Number of the attempt that a file tells of."""
    return int(path.name.split(".")[1])


def main() -> None:
    job = json.loads(sys.argv[1])
    os.environ["TORCH_DISABLE_SHARE_RDZV_TCP_STORE"] = "1"  # docs/speculation.md says why
    config = LaunchConfig(
        min_nodes=1,
        max_nodes=1,
        nproc_per_node=job["workers"],
        run_id=uuid.uuid4().hex,
        rdzv_backend="c10d",
        rdzv_endpoint="127.0.0.1:0",
        local_addr="127.0.0.1",
        max_restarts=job["faults"],
        monitor_interval=0.1,
        start_method="fork",
    )
    weights = elastic_launch(config, work)(job)
    began: dict[int, list[int]] = {}
    for path in sorted(Path(job["folder"]).glob("began.*"), key=_attempt):
        began.setdefault(_attempt(path), []).append(int(path.read_text()))
    print(
        json.dumps({"weights": [own for _, own in sorted(weights.items())], "began": began}),
        flush=True,
    )


if __name__ == "__main__":
    main()

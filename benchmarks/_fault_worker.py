"""A worker that speculates while things go wrong, and notes in a file what becomes of it.

Each line of the file is a JSON object that begins with the time, of the clock that all processes
share, and the worker's process.
"""

import hashlib
import json
import os
import sys
import time
from datetime import timedelta
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch import nn

import adagrain
from adagrain.host.distributed.process_group import leave_group
from adagrain.models.interface.units.region_manager import SpeculationPolicy


class Notes:
    """The file of notes of one rank; it goes on where an attempt before has ended."""

    def __init__(self, folder: str) -> None:
        self._path = Path(folder) / f"notes.{os.environ['RANK']}"

    def add(self, **noted: Any) -> None:
        with self._path.open("a") as file:
            entry = {"time": time.monotonic(), "process": os.getpid()} | noted
            print(json.dumps(entry), file=file, flush=True)


def train(job: dict[str, Any], notes: Notes) -> str:
    """All steps that are left; SHA-256 of the weights."""
    dist.init_process_group("gloo", timeout=timedelta(seconds=job["time_out"]))
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU())
    model.append(nn.Linear(128, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    speculation = adagrain.speculate(
        model, optimizer, tau=0.0, policy=SpeculationPolicy.ALWAYS, bucket_bytes=1 << 15
    )
    checkpoints, first = adagrain.Checkpoints(job["folder"]), 0
    if found := checkpoints.load():
        first, state = found
        model.load_state_dict(state["model"])
        speculation.load_state_dict(state["speculation"])
    notes.add(first=first)
    for step in range(first, job["steps"]):
        generator = torch.Generator().manual_seed(1000 * step + dist.get_rank())
        x, y = torch.randn(32, 64, generator=generator), torch.arange(32) % 10
        time.sleep(job["pace"])
        speculation.step(lambda x=x, y=y: nn.functional.cross_entropy(model(x), y))
        notes.add(step=step + 1)
        if (step + 1) % job["every"] == 0:
            parts = {"model": model, "speculation": speculation}
            checkpoints.save(step + 1, {name: part.state_dict() for name, part in parts.items()})
    speculation.close()
    raw = b"".join(own.detach().numpy().tobytes() for own in model.parameters())
    return hashlib.sha256(raw).hexdigest()


def main() -> None:
    job = json.loads(sys.argv[1])
    torch.set_num_threads(1)
    notes = Notes(job["folder"])
    try:
        notes.add(weights=train(job, notes))
    except Exception as error:
        notes.add(failed=f"{type(error).__name__}: {error}".partition("\n")[0])
        raise
    leave_group()


if __name__ == "__main__":
    main()

"""A worker of the tests of recordings: trains as each of its arguments says, in JSON."""

import hashlib
import json
import os
import random
import signal
import sys
import time
from typing import Any

import torch
import torch.distributed as dist
from speculation_setup import REALLY_ARRIVED, Residual, begun, buckets_of, plain, several
from torch import nn

import adagrain
from adagrain.host.distributed import agreement
from adagrain.host.distributed.process_group import leave_group
from adagrain.host.distributed.timing import Timing
from adagrain.host.speculation import planner
from adagrain.host.speculation.speculate import Speculation
from adagrain.models.interface.units.region_manager import SpeculationPolicy

NETWORKS = {"plain": plain, "residual": Residual}
REALLY_PLANNED = planner.planned
DEFAULTS = {
    "network": "plain",
    "steps": 12,
    "tau": 1.0,
    "policy": "always",
    "optimizer": "SGD",
    "clip": None,
    "passes": 1,
    "looks": 6,
    "jitter": 0,
    "rate": 0.05,
    "bucket_bytes": 1,
    "plan": None,
    "depth": 1,
    "cadences": {},
    "compression": None,
    "timing": "measured",
    "record": None,
    "replay": None,
    "alike": False,
    "killed": None,
    "reloaded": None,
}


def digest(model: nn.Module) -> str:
    tensors = (*model.parameters(), *model.buffers())
    return hashlib.sha256(b"".join(own.detach().numpy().tobytes() for own in tensors)).hexdigest()


class Training:
    """A run; its arrivals are real where there is jitter, forced where there are looks."""

    def __init__(self, options: dict[str, Any]) -> None:
        self.options = options
        self.rank = dist.get_rank()
        self.own = 0 if options["alike"] else self.rank
        self.chosen = random.Random(f"{options['jitter']} {self.rank}")
        torch.manual_seed(7)
        self.model = NETWORKS[options["network"]]()
        kind = getattr(torch.optim, options["optimizer"])
        self.optimizer = kind(self.model.parameters(), lr=options["rate"])
        self.speculation = self.begin()
        torch.manual_seed(self.own)

    def begin(self) -> Speculation:
        options = self.options
        plan = options["plan"]
        planner.planned = (lambda *_: plan) if plan else REALLY_PLANNED
        chosen = {
            "tau": options["tau"],
            "policy": SpeculationPolicy[options["policy"].upper()],
            "clip": options["clip"],
            "timing": Timing.parse(options["timing"]),
            "epoch_steps": 4,
            "parameters": {"dwell": 1},
            "bucket_bytes": buckets_of(options["compression"], options["bucket_bytes"]),
            "depth": options["depth"],
            "cadences": options["cadences"],
            "compression": options["compression"],
            "record": options["record"],
            "replay": options["replay"],
        }
        if not options["jitter"]:
            looks = several(options["looks"], self.rank)
            return begun(self.model, self.optimizer, looks=looks, **chosen)
        agreement.Agreeing.arrived = REALLY_ARRIVED  # type: ignore[method-assign]
        return adagrain.speculate(self.model, self.optimizer, **chosen)

    def loss(self, step: int, number: int) -> torch.Tensor:
        generator = torch.Generator().manual_seed(1000 * step + 10 * number + self.own)
        x = torch.randn(16, 12, generator=generator)
        if self.options["jitter"]:
            time.sleep(self.chosen.choice((0, 0, 0.004, 0.012)))
        return self.model(x).square().mean()

    def run(self) -> dict[str, Any]:
        losses = []
        for step in range(self.options["steps"]):
            if step == self.options["killed"]:
                os.kill(os.getpid(), signal.SIGKILL)
            if step == self.options["reloaded"]:
                self.speculation.load_state_dict(self.speculation.state_dict())
            passes = range(self.options["passes"])
            closures = [lambda n=n, s=step: self.loss(s, n) for n in passes]
            losses.append(float(self.speculation.step(*closures)))
        counts = self.speculation.counts
        self.speculation.close()
        return {
            "weights": digest(self.model),
            "losses": losses,
            "guessed_steps": counts.guessed,
            "guessed": sum(counts.trials.values()),
            "accepted": sum(counts.accepts.values()),
        }


def main() -> None:
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    for argument in sys.argv[1:]:
        print(json.dumps(Training(DEFAULTS | json.loads(argument)).run()), flush=True)
    leave_group()


if __name__ == "__main__":
    main()

"""A worker whose collectives go wrong as its argument says, in JSON; it tells how it has ended."""

import datetime
import json
import sys
import time
from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as dist
from broken_collectives import BrokenCollectives
from speculation_judges import digest
from speculation_setup import begun, buckets_of, plain, several, sgd

from adagrain.host.speculation.speculate import Speculation

STEPS = 6

DEFAULTS = {
    "fault": "raises",
    "at": 0,
    "ranks": [],
    "armed": 2,
    "ending": "close",
    "time_out": 2.0,
    "stopped_for": None,
    "failing": None,
    "tau": 0.0,
    "depth": 1,
    "compression": None,
}


class Run:
    """Steps of speculation, a fault, and what has become of them.

    Parameters
    ----------
    job : dict
        ``armed`` is the step from which collectives are counted; −1: from the beginning. In the
        next one the closure of the worker fails that is ``failing``.
    """

    def __init__(self, job: dict[str, Any]) -> None:
        self._job = job
        self._rank = dist.get_rank()
        at = job["at"] if self._rank in job["ranks"] else None
        seconds = job["stopped_for"] or job["time_out"]
        self._collectives = BrokenCollectives(job["fault"], at, seconds)
        self._fails = False
        self._batches = torch.Generator().manual_seed(self._rank)
        torch.manual_seed(7)
        self._model = plain()
        self._optimizer = sgd(self._model)
        self._speculation: Speculation | None = None

    def train(self) -> str:
        """All steps; SHA-256 of the weights."""
        self._arm(-1)
        compression = self._job["compression"]
        self._speculation = speculation = begun(
            *(self._model, self._optimizer),
            tau=self._job["tau"],
            depth=self._job["depth"],
            compression=compression,
            bucket_bytes=buckets_of(compression, 2048),
            looks=several(9, self._rank),
        )
        for step in range(STEPS):
            self._arm(step)
            batch = torch.randn(16, 12, generator=self._batches)
            speculation.step(lambda x=batch: self._loss(x))
        self._uses()[self._job["ending"]]()
        speculation.close()
        return digest(self._model.parameters())

    def refused(self) -> dict[str, str]:
        """What is said of each use after a failure, and how a close ends then."""
        if self._speculation is None:
            return {}
        return {name: said_of(use) for name, use in self._uses().items()}

    def _arm(self, step: int) -> None:
        if step == self._job["armed"]:
            self._collectives.arm()
        self._fails = step == self._job["armed"] + 1 and self._rank == self._job["failing"]

    def _loss(self, batch: torch.Tensor) -> torch.Tensor:
        if self._fails:
            raise KeyError("no such thing")
        return self._model(batch).square().mean()

    def _uses(self) -> dict[str, Callable[[], Any]]:
        """Everything that waits for the update in flight; the last one lets go of the model."""
        speculation, batch = self._speculation, torch.ones(3, 12)
        assert speculation is not None
        return {
            "step": lambda: speculation.step(lambda: self._loss(batch)),
            "settle": speculation.settle,
            "state_dict": speculation.state_dict,
            "weights": self._model.state_dict,
            "optimizer": self._optimizer.state_dict,
            "model": lambda: self._model(batch),
            "close": speculation.close,
        }


def said_of(use: Callable[[], Any]) -> str:
    try:
        use()
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return "done"


def main() -> None:
    job = DEFAULTS | json.loads(sys.argv[1])
    torch.set_num_threads(1)
    dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=job["time_out"]))
    run = Run(job)
    found: dict[str, Any] = {}
    try:
        found["weights"] = run.train()
    except Exception as error:
        found["error"] = f"{type(error).__name__}: {error}"
        found["refused"] = run.refused()
    print(json.dumps(found | {"ended": time.monotonic()}), flush=True)
    sys.exit("error" in found)


if __name__ == "__main__":
    main()

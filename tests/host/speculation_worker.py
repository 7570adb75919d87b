"""A worker of the tests of speculation: trains as each of its arguments says, in JSON."""

import hashlib
import json
import sys
from collections.abc import Iterable
from contextlib import nullcontext
from typing import Any

import torch
import torch.distributed as dist
from speculation_setup import Residual, begun, plain, several
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from adagrain.host.distributed.process_group import leave_group
from adagrain.host.distributed.timing import Timing
from adagrain.models.interface.units.region_manager import SpeculationPolicy

OPTIMIZERS = {
    "sgd": lambda p: torch.optim.SGD(p, lr=0.05, weight_decay=1e-3),
    "momentum": lambda p: torch.optim.SGD(p, lr=0.05, momentum=0.9, nesterov=True),
    "adamw": lambda p: torch.optim.AdamW(p, lr=0.01),
    "fused": lambda p: torch.optim.AdamW(p, lr=0.01, fused=True),
}
NETWORKS = {"plain": plain, "residual": Residual}
DEFAULTS = {
    "network": "plain",
    "optimizer": "sgd",
    "steps": 16,
    "policy": "always",
    "tau": 0,
    "depth": 1,
    "clip": None,
    "passes": 1,
    "autocast": False,
    "ddp": False,
    "alike": False,
    "looks": 12,
    "poison": -1,
    "void": False,
    "resume": False,
    "timing": "fixed",
    "device": "golden:",
    "preset": "full",
    "keep_outputs": True,
}


class Collectives:
    """All all-reduces, as they begin; none may do so while a guess has entered."""

    def __init__(self) -> None:
        self.begun: list[tuple[int, str]] = []
        self.speculation: Any = None
        self._real = dist.all_reduce

    def __call__(self, tensor: torch.Tensor, *arguments: Any, **options: Any) -> Any:
        if self.speculation is not None:
            assert self.speculation._runtime._tags.mask == 0
        self.begun.append((tensor.numel(), str(tensor.dtype)))
        return self._real(tensor, *arguments, **options)


def digest(tensors: Iterable[torch.Tensor]) -> str:
    raw = b"".join(tensor.detach().numpy().tobytes() for tensor in tensors)
    return hashlib.sha256(raw).hexdigest()


def forget_guesses(speculation: Any) -> None:
    """Have each guess consist of what must never be used."""
    arrivals = speculation._runtime._arrivals
    real = arrivals.guess

    def guess(region: int) -> None:
        real(region)
        for part in arrivals._regions[region].slices:
            arrivals._leaves._guesses[id(part.parameter)].data.fill_(torch.nan)

    arrivals.guess = guess


class Training:
    """A run."""

    def __init__(self, options: dict[str, Any], collectives: Collectives) -> None:
        self.options = options
        self.collectives = collectives
        self.rank = dist.get_rank()
        self.anchors: list[str] = []
        self.agreed: list[Any] = []
        torch.manual_seed(7)
        self.model = NETWORKS[options["network"]]()
        self.optimizer = OPTIMIZERS[options["optimizer"]](self.model.parameters())
        self.schedule = torch.optim.lr_scheduler.StepLR(self.optimizer, 5, 0.7)
        self.ddp = DistributedDataParallel(self.model) if options["ddp"] else None
        if self.ddp is None:
            self._begin()
            collectives.begun = []
        torch.manual_seed(0 if options["alike"] else self.rank)

    def _begin(self) -> None:
        options = self.options
        self.speculation = begun(
            self.model,
            self.optimizer,
            looks=several(options["looks"], self.rank),
            tau=float(options["tau"]),
            depth=options["depth"],
            policy=SpeculationPolicy[options["policy"].upper()],
            clip=options["clip"],
            device=options["device"],
            preset=options["preset"],
            keep_outputs=options["keep_outputs"],
            epoch_steps=4,
            timing=Timing.parse(options["timing"]),
            parameters={"dwell": 1},
            compare_weights=1,
            log=self.agreed.append,
        )
        if options["void"]:
            forget_guesses(self.speculation)
        lockstep = self.speculation._lockstep
        real = lockstep.check

        def check(state: Any) -> None:
            groups = self.optimizer.param_groups  # modules may see guesses now
            self.anchors.append(digest(p for group in groups for p in group["params"]))
            real(state)

        lockstep.check = check
        self.collectives.speculation = self.speculation

    def loss(self, step: int, number: int) -> torch.Tensor:
        seed = 1000 * step + 10 * number + (0 if self.options["alike"] else self.rank)
        generator = torch.Generator().manual_seed(seed)
        x = torch.randn(16, 12, generator=generator)
        if step == self.options["poison"] and self.rank == 1:
            x[0, 0] = torch.nan
        cast = torch.autocast("cpu", torch.bfloat16) if self.options["autocast"] else nullcontext()
        with cast:
            return (self.ddp or self.model)(x).float().square().mean()

    def take(self, step: int) -> float:
        passes = range(self.options["passes"])
        if self.ddp is None:
            return float(self.speculation.step(*(lambda n=n: self.loss(step, n) for n in passes)))
        self.optimizer.zero_grad()
        for number in passes:
            with nullcontext() if number + 1 == len(passes) else self.ddp.no_sync():
                self.loss(step, number).backward()
        if self.options["clip"]:
            nn.utils.clip_grad_norm_(self.model.parameters(), self.options["clip"])
        self.optimizer.step()
        return 0.0

    def run(self) -> dict[str, Any]:
        losses = []
        for step in range(self.options["steps"]):
            if self.options["resume"] and step == self.options["steps"] // 2:
                self._resume()
            losses.append(self.take(step))
            self.schedule.step()
        found: dict[str, Any] = {"buffers": digest(self.model.buffers()), "losses": losses}
        if self.ddp is None:
            found |= self._told()
        return found | {"weights": digest(self.model.parameters())}

    def _resume(self) -> None:
        state = self.model.state_dict(), self.speculation.state_dict()
        saved = [{k: v.clone() for k, v in state[0].items()}, state[1]]
        self.collectives.speculation = None
        self.speculation.close()
        for parameter in self.model.parameters():
            parameter.data.zero_()
        self._begin()
        self.model.load_state_dict(saved[0])
        self.speculation.load_state_dict(saved[1])

    def _told(self) -> dict[str, Any]:
        speculation = self.speculation
        speculation.settle()
        counts = speculation.counts
        return {
            "guessed": counts.guessed,
            "rejecting": counts.rejecting,
            "trials": dict(counts.trials),
            "accepts": dict(counts.accepts),
            "redone": speculation.passes_redone,
            "dropped": speculation.dropped,
            "anchors": self.anchors,
            "gains": speculation.gains,
            "agreed": [[*log.agreed.accepts, *log.agreed.trials] for log in self.agreed],
            "states": [[own["state"] for own in log.decisions.values()] for log in self.agreed],
        }


def main() -> None:
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    collectives = Collectives()
    dist.all_reduce = collectives  # type: ignore[assignment]
    for argument in sys.argv[1:]:
        training = Training(DEFAULTS | json.loads(argument), collectives)
        found = training.run()
        found["collectives"] = str(collectives.begun)
        collectives.speculation = None
        if training.ddp is None:
            training.speculation.close()
        print(json.dumps(found), flush=True)
    leave_group()


if __name__ == "__main__":
    main()

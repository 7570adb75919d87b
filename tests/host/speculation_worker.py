"""A worker of the tests of speculation: trains as each of its arguments says, in JSON."""

import json
import sys
from contextlib import nullcontext
from typing import Any

import torch
import torch.distributed as dist
from compression_hook_cases import damaging
from compression_setup import replaced
from speculation_judges import Balance, Collectives, digest, forget_guesses, projected
from speculation_setup import Residual, begun, buckets_of, plain, several
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils._pytree import tree_map_only

import adagrain
from adagrain.host.compression import frames
from adagrain.host.compression.exchange import CompressedExchange
from adagrain.host.distributed.process_group import leave_group
from adagrain.host.distributed.timing import Timing
from adagrain.host.granular import Granularity, GranularLayer, Policy, convert
from adagrain.models.interface.units.region_manager import CadencePolicy, SpeculationPolicy

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
    "resume": 0,
    "saves": 0,
    "timing": "fixed",
    "device": "golden:",
    "preset": "full",
    "keep_outputs": True,
    "bucket_bytes": 1,
    "compression": None,
    "damaged": (),
    "parameters": {"dwell": 1},
    "cadence": None,
    "cadences": {},
    "cadence_max": 1,
    "epoch_steps": 4,
    "settles": False,
    "granular": None,
}


def with_numbers(pairs: list[tuple[str, Any]]) -> dict[Any, Any]:
    """A mapping from JSON, whose keys are numbers where they look so."""
    return {int(name) if name.isdecimal() else name: value for name, value in pairs}


class Training:
    """A run."""

    def __init__(self, options: dict[str, Any], collectives: Collectives) -> None:
        self.options = options
        self.collectives = collectives
        self.rank = dist.get_rank()
        self.speculation: Any = None
        self.anchors: dict[int, dict[int, str]] = {}
        self.agreed: list[Any] = []
        self.entered: set[int] = set()
        self.balance = Balance()
        torch.manual_seed(7)
        self.model = NETWORKS[options["network"]]()
        if options["granular"] is not None:
            self.model = convert(self.model, Policy(**options["granular"]))
        self.optimizer = OPTIMIZERS[options["optimizer"]](self.model.parameters())
        self.schedule = torch.optim.lr_scheduler.StepLR(self.optimizer, 5, 0.7)
        self.ddp = DistributedDataParallel(self.model) if options["ddp"] else None
        if self.ddp is None:
            self._begin()
            collectives.forget()
            collectives.missing = 0
        elif options["compression"] is not None or options["cadences"] or options["granular"]:
            self.registered = adagrain.register(
                *(self.ddp, self.optimizer),
                preset=options["preset"],
                compression=options["compression"],
                **self._cadences(),
            )
        self._begin_granular()
        torch.manual_seed(0 if options["alike"] else self.rank)

    def _begin_granular(self) -> None:
        """Have a device choose precisions, if the layers have some."""
        self.granularity = None
        if self.options["granular"] is not None:
            self.granularity = Granularity(self.model)

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
            compression=options["compression"],
            keep_outputs=options["keep_outputs"],
            bucket_bytes=buckets_of(options["compression"], options["bucket_bytes"]),
            **self._cadences(),
            timing=Timing.parse(options["timing"]),
            parameters=options["parameters"],
            compare_weights=1,
            log=self.agreed.append,
        )
        if options["void"]:
            forget_guesses(self.speculation)
        self.balance.watch(self.speculation.exchange)
        arrivals = self.speculation._runtime._arrivals
        real = arrivals._update

        def update(flight: Any, regions: Any) -> None:
            real(flight, regions)
            self.entered |= {*flight.gains}
            averages = arrivals._stages.accumulators.averages[flight.step.current.place]
            for region in regions:
                if region in flight.step.due:
                    self.balance.averaged += projected(averages[region], region)
                assert all(step < flight.step.number for step in self.updated_in(region))
                found = digest(arrivals._members[region])
                self.anchors.setdefault(flight.step.number, {})[region] = found

        arrivals._update = update
        self.collectives.speculation = self.speculation

    def updated_in(self, region: int) -> list[int]:
        """Steps whose update a region has got."""
        return [step for step, own in self.anchors.items() if region in own]

    def _cadences(self) -> dict[str, Any]:
        options = self.options
        chosen = {name: options[name] for name in ("cadences", "cadence_max", "epoch_steps")}
        chosen["cadences"] = {str(name): c for name, c in chosen["cadences"].items()}
        policy = options["cadence"]
        return chosen | {"cadence": None if policy is None else CadencePolicy[policy.upper()]}

    def loss(self, step: int, number: int) -> torch.Tensor:
        seed = 1000 * step + 10 * number + (0 if self.options["alike"] else self.rank)
        generator = torch.Generator().manual_seed(seed)
        x = torch.randn(16, 12, generator=generator)
        if step == self.options["poison"] and self.rank == 1:
            x[0, 0] = torch.nan
        cast = torch.autocast("cpu", torch.bfloat16) if self.options["autocast"] else nullcontext()
        with cast:
            loss = (self.ddp or self.model)(x).float().square().mean()
        if self.granularity is None:
            return loss
        return (self.speculation or self.registered).loss(loss) + self.granularity.penalty()

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
        """All steps; the second worker finds frames of the first one damaged now and then."""
        damages = self.options["damaged"] and self.rank == 1
        other = damaging(0, self.options["damaged"])
        with replaced(frames, "_decoded", other) if damages else nullcontext():
            return self._run()

    def _run(self) -> dict[str, Any]:
        losses = []
        for step in range(self.options["steps"]):
            if step and step == self.options["saves"]:
                self.speculation.state_dict()
            if step and step == self.options["resume"]:
                self._resume()
            losses.append(self.take(step))
            if self.granularity is not None:
                self.granularity.step()
            if self.options["settles"]:
                self._settle_alone()
            self.schedule.step()
        found: dict[str, Any] = {"buffers": digest(self.model.buffers()), "losses": losses}
        if self.ddp is None:
            found |= self._told()
        if self.granularity is not None:
            found |= self._told_of_precisions()
        return found | {"weights": digest(self.model.parameters())}

    def _settle_alone(self) -> None:
        """Wait for the update in flight on one worker, for which the others wait elsewhere."""
        if self.rank == 1:
            self.speculation.settle()
        dist.barrier()

    def _resume(self) -> None:
        state = self.model.state_dict(), self.speculation.state_dict()
        saved = [{k: v.clone() for k, v in state[0].items()}, state[1]]
        self.collectives.speculation = None
        self.speculation.close()
        for parameter in self.model.parameters():
            parameter.data.zero_()
        self.optimizer.state.clear()
        self._begin()
        self.model.load_state_dict(saved[0])
        self.speculation.load_state_dict(saved[1])
        if self.granularity is not None:
            state = self.granularity.state_dict()
            self._begin_granular()
            self.granularity.load_state_dict(state)

    def _told(self) -> dict[str, Any]:
        speculation = self.speculation
        speculation.settle()
        speculation._runtime._decisions.end()
        counts = speculation.counts
        return {
            "guessed": counts.guessed,
            "rejecting": counts.rejecting,
            "trials": dict(counts.trials),
            "accepts": dict(counts.accepts),
            "redone": speculation.passes_redone,
            "dropped": speculation.dropped,
            "anchors": [
                [self.anchors.get(step, {}).get(region) for region in range(4)]
                for step in range(self.options["steps"])
            ],
            "gains": speculation.gains,
            "entered": sorted(self.entered),
            "missing": self.collectives.missing,
            "cadences": speculation.cadences,
            "bytes": speculation.last_step.bytes_sent,
            **self._told_of_exchange(),
            "agreed": [[*log.agreed.accepts, *log.agreed.trials] for log in self.agreed],
            "states": [[own["state"] for own in log.decisions.values()] for log in self.agreed],
            "decided": [
                {name: 1 << own["cadence"] for name, own in log.decisions.items()}
                for log in self.agreed
            ],
        }

    def _told_of_precisions(self) -> dict[str, Any]:
        """What the layers computed, saw and chose, on this worker."""
        assert self.granularity is not None
        layers = (own for own in self.model.modules() if isinstance(own, GranularLayer))
        return {
            "work": self.granularity.state_dict(),
            "seen": digest(own.controllers.get_extra_state() for own in layers),
            "thresholds": digest(self.granularity.thresholds()),
        }

    def _told_of_exchange(self) -> dict[str, Any]:
        """What the exchange knows, of this worker, and all of it as a digest."""
        exchange = self.speculation._runtime._stages.commit._exchange
        if not isinstance(exchange, CompressedExchange):
            return {}
        tensors: list[torch.Tensor] = []
        tree_map_only(torch.Tensor, tensors.append, exchange.state_dict())
        numbers = tree_map_only(torch.Tensor, lambda _: None, exchange.state_dict())
        return {
            "balance": self.balance.found(exchange),
            "refused": exchange.counts.refused,
            "dense_after_refusal": exchange.counts.dense_after_refusal,
            "overflows": exchange.counts.overflows,
            "bypassed": exchange.bypass.record,
            "exchange": digest(tensors) + str(numbers),
        }


def main() -> None:
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    collectives = Collectives()
    for argument in sys.argv[1:]:
        options = json.loads(argument, object_pairs_hook=with_numbers)
        training = Training(DEFAULTS | options, collectives)
        found = training.run()
        found["collectives"] = str(collectives.begun)
        collectives.speculation = None
        if training.ddp is None:
            training.speculation.close()
        print(json.dumps(found), flush=True)
    leave_group()


if __name__ == "__main__":
    main()

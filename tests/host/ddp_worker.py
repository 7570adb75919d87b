"""A worker of the DDP tests: trains a small network and prints what became of it as JSON."""

import argparse
import hashlib
import json
import sys
from contextlib import nullcontext
from functools import partial

import torch
import torch.distributed as dist
from builds import TINY
from torch import nn
from torch.nn.parallel import DistributedDataParallel

import adagrain
from adagrain.host.distributed.process_group import leave_group
from adagrain.host.distributed.timing import Timing
from adagrain.models.interface.units.region_manager import CadencePolicy

OPTIMIZERS = {
    "sgd": lambda p: torch.optim.SGD(p, lr=0.05, momentum=0.9, weight_decay=1e-3),
    "sgd_foreach": lambda p: torch.optim.SGD(p, lr=0.05, momentum=0.9, foreach=True),
    "sgd_fused": lambda p: torch.optim.SGD(p, lr=0.05, momentum=0.9, fused=True),
    "adamw": lambda p: torch.optim.AdamW(p, lr=0.01),
}


class Network(nn.Module):
    """Two layers; with ``odd``, also a tied parameter and one that is not used."""

    def __init__(self, odd: bool) -> None:
        super().__init__()
        self.first = nn.Linear(12, 12)
        self.second = nn.Linear(12, 12)
        self.last = nn.Linear(12, 4)
        if odd:
            self.second.weight = self.first.weight
            self.unused = nn.Linear(3, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.last(torch.relu(self.second(torch.relu(self.first(x)))))


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--plain", action="store_true")
    parser.add_argument("--optimizer", default="sgd", choices=OPTIMIZERS)
    parser.add_argument("--device", default="golden:")
    parser.add_argument("--by", default="module")
    parser.add_argument("--cadence", default="off")
    parser.add_argument("--cadences", default="{}")
    parser.add_argument("--ddp", default="{}")
    parser.add_argument("--odd", action="store_true")
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--keep-zeros", action="store_true")
    parser.add_argument("--no-sync", type=int, default=1)
    parser.add_argument("--sync-all", action="store_true")
    parser.add_argument("--clip-all", action="store_true")
    parser.add_argument("--closure", action="store_true")
    parser.add_argument("--compile-step", action="store_true")
    parser.add_argument("--split", action="store_true")
    parser.add_argument("--schedule", action="store_true")
    parser.add_argument("--clip", type=float, default=0.0)
    parser.add_argument("--steps", type=int, default=24)
    parser.add_argument("--resume-at", type=int, default=0)
    parser.add_argument("--poison", type=int, default=-1)
    parser.add_argument("--die", type=int, default=-1)
    parser.add_argument("--join", action="store_true")
    return parser.parse_args()


def setup(options: argparse.Namespace):
    torch.manual_seed(7)
    network = Network(options.odd)
    inner = torch.compile(network, backend="eager") if options.compile else network
    model = DistributedDataParallel(inner, **json.loads(options.ddp))
    parts = [network.parameters()]
    if options.split:
        parts = [network.first.parameters(), [*network.second.parameters(), network.last.weight]]
        parts.append([network.last.bias])
    optimizers = [OPTIMIZERS[options.optimizer](part) for part in parts]
    if options.plain:
        return network, model, optimizers, None
    cadence = None if options.cadence == "off" else CadencePolicy[options.cadence.upper()]
    handle = adagrain.register(
        model,
        optimizers,
        device=options.device,
        preset=TINY,
        by=options.by,
        cadence=cadence,
        cadences=json.loads(options.cadences),
        timing=Timing.parse("fixed"),
        epoch_steps=8,
        parameters={"noise_samples": 4},
    )
    return network, model, optimizers, handle


def train(options, network, model, optimizers, handle, steps) -> list[str]:
    decisions = []
    schedulers = [torch.optim.lr_scheduler.StepLR(own, 5, 0.7) for own in optimizers]

    def backward(step: int) -> None:
        for optimizer in optimizers:
            optimizer.zero_grad(set_to_none=not options.keep_zeros)
        for micro in range(options.no_sync):
            generator = torch.Generator().manual_seed(1000 * step + 10 * micro + dist.get_rank())
            x = torch.randn(16, 12, generator=generator)
            if step == options.poison and dist.get_rank() == 1:
                x[0, 0] = float("nan")
            loss = model(x).square().mean()
            if handle:
                handle.loss(loss)
            exchanged = options.sync_all or micro + 1 == options.no_sync
            with nullcontext() if exchanged else model.no_sync():
                loss.backward()
            if options.clip and (options.clip_all or micro + 1 == options.no_sync):
                nn.utils.clip_grad_norm_(network.parameters(), options.clip)

    def update(optimizer: torch.optim.Optimizer) -> None:
        optimizer.step()

    update = torch.compile(update, backend="eager") if options.compile_step else update
    for step in steps:
        if step == options.die and dist.get_rank() == 1:
            sys.exit(3)
        if options.closure:
            optimizers[0].step(partial(backward, step))
        else:
            backward(step)
            for optimizer in optimizers:
                update(optimizer)
        for scheduler in schedulers if options.schedule else []:
            scheduler.step()
        if handle:
            decisions.append(str(sorted(handle.reducer.cadences.items())))
    return decisions


def main() -> None:
    options = arguments()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    parts = setup(options)
    first = options.resume_at or options.steps
    if options.join:
        with parts[1].join():
            train(options, *parts, range(first))
    decisions = train(options, *parts, range(first))
    if options.resume_at:
        network, _, _, handle = parts
        state = {"network": network.state_dict(), "handle": handle.state_dict()}
        state = {"network": {k: v.clone() for k, v in state["network"].items()}, **state}
        handle.close()
        parts = setup(options)
        parts[0].load_state_dict(state["network"])
        parts[3].load_state_dict(state["handle"])
        decisions += train(options, *parts, range(first, options.steps))
    network, _, _, handle = parts
    weights = b"".join(p.detach().numpy().tobytes() for p in network.parameters())
    result = {
        "rank": dist.get_rank(),
        "sha256": hashlib.sha256(weights).hexdigest(),
        "decisions": hashlib.sha256("".join(decisions).encode()).hexdigest(),
        "cadences": handle.reducer.cadences if handle else {},
        "dropped": handle.reducer.dropped if handle else 0,
        "sent": handle.reducer.bytes_sent if handle else 0,
        "dense": handle.reducer.bytes_dense if handle else 0,
    }
    sys.stdout.write(json.dumps(result) + "\n")
    sys.stdout.flush()
    leave_group()


if __name__ == "__main__":
    main()

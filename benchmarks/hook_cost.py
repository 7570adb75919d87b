"""Cost of ``register`` in a script's step, against plain DistributedDataParallel.

Two workers on gloo train alike networks in turns, one thread each: plain, with all cadences at 1,
and with cadences that the golden device chooses up to 4; and with PyTorch's own hook that does what
plain DDP does, for what any hook in Python costs. A turn is of some steps, as in a script
that trains one network; the first of them, which find the caches full of another way's, do not
count. Medians over all others of the same rounds, in seconds that pass and in those of the
processor; each round begins with another way. Where a network's tensors happen to lie in memory is
worth a hundredth of its step or two: after some rounds all networks are made anew, in another
order, and go on where they were. Of the seconds that pass also the quartiles of the rounds' own
quotients, which tell how sure they are. In rounds of their own, since timers take time too, what
part of a step each stage takes.

Exits with status 1 where a step at cadence 1 of one of the larger networks is beyond its aim.
Names of networks and a number of rounds may be given: ``transformer_0.8M --rounds 10``.
"""

import argparse
import copy
import os
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from _report import report
from _stages import Stages
from _text import Transformer, batch_of
from _workers import free_port
from rich.progress import track
from torch import nn
from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import allreduce_hook
from torch.nn.parallel import DistributedDataParallel

import adagrain
from adagrain.host.distributed.process_group import leave_group
from adagrain.host.distributed.reducer_options import ReducerOptions
from adagrain.host.train.text import text

WORKERS, ROUNDS = 2, 24

#: Rounds after which the networks are made anew, and how many of the next do not count.
MADE, WARM_UP = 2, 1

#: Steps of a turn that count, and those in front of them that do not.
COUNTED, COLD = ReducerOptions().epoch_steps, 2

#: Our ways to train: the options of ``register``.
OPTIONS: dict[str, dict[str, Any]] = {
    "cadence_1": {"cadence_max": 1},
    "cadence_to_4": {"cadence_max": 4},
}

#: The most that a step at cadence 1 may take, as a multiple of plain DDP's, and the networks of
#: which this is asked.
AIM, AIMED = 1.05, ("transformer_0.8M", "convolutions_0.3M")

#: All of them.
WAYS = ("plain", "torch_hook", *OPTIONS)

Batch = tuple[torch.Tensor, torch.Tensor]


def _convolutions() -> nn.Module:
    stages: list[nn.Module] = []
    for before, after in ((3, 64), (64, 128), (128, 192)):
        stages += [nn.Conv2d(before, after, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)]
    return nn.Sequential(*stages, nn.Flatten(), nn.Linear(192 * 16, 10))


def _mlp() -> nn.Module:
    layers = (nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 10))
    return nn.Sequential(*layers)


def _characters(generator: torch.Generator) -> Batch:
    return batch_of(text()[0], 16, generator)


def _labelled(shape: tuple[int, ...], generator: torch.Generator) -> Batch:
    x = torch.randn(shape, generator=generator)
    return x, torch.randint(10, shape[:1], generator=generator)


#: Networks, and what makes a batch for them.
NETWORKS: dict[str, tuple[Callable[[], nn.Module], Callable[[torch.Generator], Batch]]] = {
    "transformer_0.8M": (Transformer, _characters),
    "convolutions_0.3M": (_convolutions, lambda g: _labelled((32, 3, 32, 32), g)),
    "mlp_0.1M": (_mlp, lambda g: _labelled((32, 64), g)),
}


class Times(NamedTuple):
    """Seconds of a step: those that pass, and those of this worker's processor."""

    wall: float
    processor: float


#: Times of the steps of a way that count, round by round: each from an epoch's first step on.
Rounds = list[list[Times]]


class Training(NamedTuple):
    """A network that is trained: takes a step, tells what a new one needs, lets go of all."""

    step: Callable[[], None]
    save: Callable[[], dict[str, Any]]
    close: Callable[[], None]


#: Makes networks of some ways, which go on from what those before have saved.
Make = Callable[[Sequence[str], Mapping[str, Any]], dict[str, Training]]


def main() -> None:
    """Measure the networks that are named, or all."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("networks", nargs="*", choices=[[], *NETWORKS], default=[])
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    options = parser.parse_args()
    if options.rounds < 2:
        parser.error(f"rounds must be at least 2, for quartiles, not {options.rounds}")
    queue = mp.get_context("spawn").SimpleQueue()
    networks = options.networks or list(NETWORKS)
    mp.spawn(_work, (free_port(), queue, networks, options.rounds), nprocs=WORKERS)
    figures = queue.get()
    report("hook_cost", figures, whole=len(sys.argv) == 1)
    if missed := beyond_aim(figures):
        sys.exit(f"beyond an aim: {'; '.join(missed)}")


def beyond_aim(figures: Mapping[str, Any]) -> list[str]:
    """The networks of which a step at cadence 1 takes too long."""
    found = {name: figures.get(f"cadence_1_to_plain_{name}", 0.0) for name in AIMED}
    return [
        f"a step of {name} must take at most {AIM} of plain DDP's, not {ratio:.3f}"
        for name, ratio in found.items()
        if ratio > AIM
    ]


def _work(rank: int, port: int, queue: Any, networks: list[str], rounds: int) -> None:
    os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    torch.set_num_threads(1)
    dist.init_process_group("gloo", rank=rank, world_size=WORKERS)
    figures: dict[str, Any] = {}
    for network in networks:
        figures |= _figures(network, rounds)
    if rank == 0:
        queue.put(figures)
    leave_group()


def _figures(network: str, rounds: int) -> dict[str, Any]:
    """A network's medians and shares."""
    found = _measured(network, rounds, partial(_trainings, network, {}))
    plain_rounds = found.pop("plain")
    plain = medians(plain_rounds)
    figures: dict[str, Any] = {f"plain_{network}_ms": 1e3 * plain.wall}
    for way, rounds_of_way in found.items():
        times = medians(rounds_of_way)
        figures[f"{way}_to_plain_{network}"] = times.wall / plain.wall
        figures[f"{way}_to_plain_{network}_quartiles"] = quartiles(rounds_of_way, plain_rounds)
        figures[f"{way}_to_plain_{network}_processor"] = times.processor / plain.processor
        figures[f"{way}_to_plain_{network}_mean"] = mean(rounds_of_way) / mean(plain_rounds)
    stages = {way: Stages() for way in OPTIONS}
    make = partial(_trainings, network, stages)
    timed = _measured(f"{network}, timed", rounds // 2, make)
    for way, own in stages.items():
        step = medians(timed[way]).wall
        figures[f"shares_{way}_{network}"] = own.shares(step, skip=WARM_UP * (COLD + COUNTED))
    return figures


def _trainings(
    network: str, stages: Mapping[str, Stages], ways: Sequence[str], saved: Mapping[str, Any]
) -> dict[str, Training]:
    """A network for each way, made in this order; stages that there are timers for are timed."""
    make, batches = NETWORKS[network]
    x, y = batches(torch.Generator().manual_seed(dist.get_rank()))
    return {way: _training(make, way, x, y, stages.get(way), saved.get(way)) for way in ways}


def medians(rounds: Rounds) -> Times:
    """Mean times of the steps of a decision epoch, each of them the median of the rounds."""
    each = zip(*rounds, strict=True)
    steps = [Times(*map(statistics.median, zip(*own, strict=True))) for own in each]
    return Times(*map(statistics.fmean, zip(*steps, strict=True)))


def mean(rounds: Rounds) -> float:
    """Mean seconds that pass in a step, over all rounds."""
    return statistics.fmean(step.wall for own in rounds for step in own)


def quartiles(rounds: Rounds, plain: Rounds) -> list[float]:
    """The lower and the upper quartile of the quotients that single rounds give."""
    quotients = [mean([own]) / mean([other]) for own, other in zip(rounds, plain, strict=True)]
    lower, _, upper = statistics.quantiles(quotients, method="inclusive")
    return [lower, upper]


def _measured(
    title: str,
    rounds: int,
    make: Make,
    ways: Sequence[str] = WAYS,
) -> dict[str, Rounds]:
    """Times of each way's steps."""
    times: dict[str, Rounds] = {way: [] for way in ways}
    trainings: dict[str, Training] = {}
    for number in track(range(rounds), title, disable=dist.get_rank() > 0):
        order = _turned(ways, number)
        if number % MADE == 0:
            saved = {way: training.save() for way, training in trainings.items()}
            _close(trainings)
            trainings = make(_turned(ways, number // MADE), saved)
            for way in order * WARM_UP:
                _turn(trainings[way].step)
        turns = number + WARM_UP * (1 + number // MADE)
        first = (turns * (COLD + COUNTED) + COLD) % COUNTED  # step of its epoch
        for way in order:
            turn = _turn(trainings[way].step)
            times[way].append([*turn[COUNTED - first :], *turn[: COUNTED - first]])
    _close(trainings)
    return times


def _close(trainings: Mapping[str, Training]) -> None:
    for training in trainings.values():
        training.close()


def _turned(ways: Sequence[str], number: int) -> list[str]:
    first = number % len(ways)
    return [*ways[first:], *ways[:first]]


def _turn(step: Callable[[], None]) -> list[Times]:
    dist.barrier()
    return [_timed(step) for _ in range(COLD + COUNTED)][COLD:]


def _timed(step: Callable[[], None]) -> Times:
    wall, processor = time.perf_counter(), time.process_time()
    step()
    return Times(time.perf_counter() - wall, time.process_time() - processor)


def _training(
    make: Callable[[], nn.Module],
    way: str,
    x: torch.Tensor,
    y: torch.Tensor,
    stages: Stages | None = None,
    saved: Mapping[str, Any] | None = None,
) -> Training:
    torch.manual_seed(0)
    model = DistributedDataParallel(make())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    own: Any = optimizer
    close: Callable[[], None] = model.zero_grad
    if way == "torch_hook":
        model.register_comm_hook(None, allreduce_hook)
    if way in OPTIONS:
        own = state = adagrain.register(model, optimizer, **OPTIONS[way])
        close = state.close
        if stages is not None:
            stages.watch(state)
    if saved is not None:
        model.load_state_dict(saved["model"])
        own.load_state_dict(saved["own"])

    def step() -> None:
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
        if stages is not None:
            stages.end_step()

    def save() -> dict[str, Any]:
        return copy.deepcopy({"model": model.state_dict(), "own": own.state_dict()})

    return Training(step, save, close)


if __name__ == "__main__":
    main()

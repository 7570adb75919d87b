"""A worker that trains wrongly, in the way that its argument names; see ``test_lockstep.py``."""

import sys
from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

import adagrain
from adagrain.models.interface.units.region_manager import SpeculationPolicy

CASES: dict[str, Callable[[], None]] = {}


def case(function: Callable[[], None]) -> Callable[[], None]:
    CASES[function.__name__] = function
    return function


def rank() -> int:
    return dist.get_rank()


class Setup:
    """A registered model, and what training it takes."""

    def __init__(self, network: nn.Module | None = None, ddp: Any = None, **options: Any) -> None:
        torch.manual_seed(3)
        network = network or nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 2))
        self.model = DistributedDataParallel(network, **(ddp or {}))
        make = options.pop("make", lambda parameters: torch.optim.SGD(parameters, lr=0.1))
        self.optimizer = make(self.model.parameters())
        cadence = options.pop("c", 1)
        names = adagrain.regions(self.model, options.get("by", "module")).names
        options = {"cadence": None, "preset": "tiny", "compare_weights": 2} | options
        options.setdefault("cadences", dict.fromkeys(names, cadence))
        self.state = adagrain.register(self.model, self.optimizer, **options)

    def loss(self) -> torch.Tensor:
        return self.model(torch.ones(3, 4) + rank()).square().mean()

    def backward(self) -> None:
        self.loss().backward()

    def train(self, steps: int = 3) -> None:
        for _ in range(steps):
            self.optimizer.zero_grad()
            self.backward()
            self.optimizer.step()


@case
def another_optimizer() -> None:
    setup = Setup()
    other = torch.optim.Adam(setup.model.parameters())
    setup.backward()
    other.step()


@case
def another_optimizer_on_one() -> None:
    setup = Setup()
    other = torch.optim.Adam(setup.model.parameters())
    for _ in range(2):
        setup.backward()
        (other if rank() == 1 else setup.optimizer).step()


@case
def another_optimizer_with_buffers() -> None:
    setup = Setup(nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Linear(4, 2)))
    other = torch.optim.Adam(setup.model.parameters())
    for step in range(6):
        setup.backward()
        (other if (step, rank()) == (3, 1) else setup.optimizer).step()


@case
def no_backward() -> None:
    setup = Setup()
    setup.train()
    setup.optimizer.zero_grad()
    setup.optimizer.step()


@case
def no_backward_on_one() -> None:
    setup = Setup()
    setup.train()
    if rank() == 1:
        setup.optimizer.step()
    setup.train()


@case
def only_no_sync() -> None:
    setup = Setup()
    setup.train()
    with setup.model.no_sync():
        setup.backward()
    setup.optimizer.step()


@case
def no_sync_at_the_end() -> None:
    setup = Setup()
    setup.backward()
    with setup.model.no_sync():
        setup.backward()
    setup.optimizer.step()


@case
def two_losses_of_one_forward() -> None:
    setup = Setup()
    loss = setup.loss()
    loss.backward(retain_graph=True)
    loss.backward()
    setup.optimizer.step()


def thrown_away(to_none: bool, cadence: int, **ddp: Any) -> None:
    setup = Setup(c=cadence, ddp=ddp)
    setup.train()
    for _ in range(2):
        setup.optimizer.zero_grad(set_to_none=to_none)
        setup.backward()


@case
def thrown_away_at_1() -> None:
    thrown_away(to_none=True, cadence=1)


@case
def thrown_away_at_4() -> None:
    thrown_away(to_none=True, cadence=4)


@case
def zeroed_at_1() -> None:
    thrown_away(to_none=False, cadence=1)


@case
def zeroed_at_4() -> None:
    thrown_away(to_none=False, cadence=4)


@case
def thrown_away_views() -> None:
    thrown_away(to_none=True, cadence=4, gradient_as_bucket_view=True)


@case
def missed_step() -> None:
    setup = Setup(c=2)
    for step in range(4):
        setup.optimizer.zero_grad()
        setup.backward()
        if (step, rank()) != (1, 1):
            setup.optimizer.step()


@case
def missed_pass() -> None:
    setup = Setup(c=2)
    for step in range(4):
        setup.backward()
        if (step, rank()) != (1, 1):
            setup.backward()
        setup.optimizer.step()
        setup.optimizer.zero_grad()


@case
def weights_differ() -> None:
    setup = Setup()
    setup.train()
    if rank() == 1:
        with torch.no_grad():
            setup.model.module[0].weight[0, 0] += 1e-6
    setup.train()


@case
def update_by_hand() -> None:
    setup = Setup()
    for _ in range(2):
        setup.backward()
        with torch.no_grad():
            for parameter in setup.model.parameters():
                parameter -= 0.1 * parameter.grad


@case
def decisions_differ() -> None:
    setup = Setup()
    honest = setup.state.device.update_regions

    def decide(updates: Any, **options: Any) -> list[dict[str, int]]:
        decisions = honest(updates, **options)
        if setup.state.reducer.step == 2:
            decisions[0]["confidence"] += rank()  # that of the other region is equal
        return decisions

    setup.state.device.update_regions = decide  # type: ignore[method-assign]
    setup.train(6)


@case
def statistics_fail_on_one() -> None:
    setup = Setup()
    setup.train()

    def fail(*_: Any, **_options: Any) -> None:
        raise KeyError("no such thing")

    if rank() == 1:
        setup.state.device.statistics_of = fail  # type: ignore[method-assign,assignment]
    setup.train()


@case
def log_fails_on_one() -> None:
    def log(found: Any) -> None:
        if (found.step, rank()) == (2, 1):
            raise OSError(28, "No space left on device")

    Setup(log=log).train(5)


@case
def sink_fails_on_one() -> None:
    class Full:
        def statistics(self, event: Any) -> None:
            if (event.step, event.kind, rank()) == (2, "local", 1):
                raise OSError(28, "No space left on device")

        def step(self, log: Any) -> None:
            pass

    Setup(sinks=[Full()]).train(5)


@case
def average_fails_on_one() -> None:
    setup = Setup()
    setup.train()
    honest = setup.state.device.statistics_of
    calls = []

    def fail(*arguments: Any, **options: Any) -> Any:
        calls.append(arguments)
        if len(calls) == 2:
            raise KeyError("no such thing")
        return honest(*arguments, **options)

    if rank() == 1:
        setup.state.device.statistics_of = fail  # type: ignore[method-assign,assignment]
    setup.train()


@case
def cadence_max_differs() -> None:
    Setup(cadence_max=(4, 8)[rank()])


@case
def regions_differ() -> None:
    Setup(by=("module", "tensor")[rank()])


@case
def epochs_differ() -> None:
    Setup(epoch_steps=(16, 32)[rank()])


@case
def policies_differ() -> None:
    Setup(policy=(SpeculationPolicy.COST_AWARE, SpeculationPolicy.ALWAYS)[rank()])


@case
def presets_differ() -> None:
    Setup(preset=("tiny", "small")[rank()])


@case
def rates_differ() -> None:
    Setup(make=lambda parameters: torch.optim.SGD(parameters, lr=(0.1, 0.2)[rank()]))


@case
def no_device_on_one() -> None:
    Setup(device=("golden:", "serial:/dev/nothing")[rank()])


@case
def unknown_option() -> None:
    Setup(cadense=4)


@case
def one_of_two_optimizers() -> None:
    setup = Setup.__new__(Setup)
    setup.model = DistributedDataParallel(nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 2)))
    both = [torch.optim.SGD(part.parameters(), lr=0.1) for part in setup.model.module]
    adagrain.register(setup.model, both)
    for _ in range(2):
        setup.backward()
        both[0].step()


@case
def grad_scaler() -> None:
    setup = Setup(make=lambda parameters: torch.optim.AdamW(parameters, fused=True))
    disabled = torch.amp.GradScaler("cpu", enabled=False)
    disabled.scale(setup.loss()).backward()
    disabled.step(setup.optimizer)
    disabled.update()
    scaler = torch.amp.GradScaler("cpu")
    scaler.scale(setup.loss()).backward()
    scaler.step(setup.optimizer)


@case
def closure_twice() -> None:
    class Twice(torch.optim.SGD):
        def step(self, closure: Callable[[], float]) -> None:
            closure()
            super().step(closure)

    setup = Setup(make=lambda parameters: Twice(parameters, lr=0.1))
    setup.optimizer.step(setup.backward)


@case
def closure_unused() -> None:
    class Never(torch.optim.SGD):
        def step(self, closure: Callable[[], float]) -> None:
            super().step()

    setup = Setup(make=lambda parameters: Never(parameters, lr=0.1))
    setup.optimizer.step(setup.backward)


@case
def closed() -> None:
    setup = Setup()
    setup.train()
    setup.state.close()
    setup.train()


@case
def hook_left_out() -> None:
    model = DistributedDataParallel(nn.Linear(4, 2))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    adagrain.AdagrainState(model, optimizer)
    model(torch.ones(3, 4)).sum().backward()
    optimizer.step()


@case
def registered_twice() -> None:
    setup = Setup()
    adagrain.register(setup.model, setup.optimizer)


@case
def state_in_mid_step() -> None:
    setup = Setup()
    setup.backward()
    setup.state.state_dict()


@case
def sparse() -> None:
    network = nn.Sequential(nn.Embedding(4, 4, sparse=True), nn.Linear(4, 2))
    setup = Setup(network)
    setup.model(torch.tensor([1, 2])).sum().backward()


@case
def thawed_later() -> None:
    network = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 2))
    network[0].requires_grad_(False)
    setup = Setup(network)
    setup.train()
    network[0].requires_grad_(True)
    setup.train()


@case
def double_precision() -> None:
    Setup(nn.Linear(4, 2).double())


if __name__ == "__main__":
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    CASES[sys.argv[1]]()

"""A worker that trains wrongly, in the way that its argument names; see ``test_lockstep.py``."""

import copy
import sys
from collections.abc import Callable
from typing import Any

import misuse_differences  # noqa: F401
import misuse_states  # noqa: F401
import torch
import torch.distributed as dist
from misuse_setup import CASES, Setup, case, rank
from torch import nn
from torch.nn.parallel import DistributedDataParallel

import adagrain


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
def no_optimizer_on_one() -> None:
    Setup(make=(lambda _: None) if rank() else lambda own: torch.optim.SGD(own, lr=0.1))


@case
def parameters_for_an_optimizer() -> None:
    Setup(make=lambda parameters: parameters)


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


def no_backward_behind(steps: int, *layers: nn.Module, **options: Any) -> None:
    network = nn.Sequential(nn.Linear(4, 4), *layers, nn.Linear(4, 2))
    setup = Setup(network, **options)
    setup.train(steps)
    loss = setup.loss()
    if rank() == 1:
        setup.optimizer.step()
    loss.backward()


@case
def no_backward_behind_a_forward() -> None:
    no_backward_behind(3, c=2, ddp={"bucket_cap_mb": 1e-5})


@case
def no_backward_behind_buffers() -> None:
    no_backward_behind(3, nn.BatchNorm1d(4))


@case
def no_backward_at_first() -> None:
    no_backward_behind(1)


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
def one_optimizer_of_two_models() -> None:
    models = [DistributedDataParallel(nn.Linear(4, 4)) for _ in range(2)]
    optimizer = torch.optim.SGD([p for model in models for p in model.parameters()], lr=0.1)
    for model in models:
        adagrain.register(model, optimizer, preset="tiny")


@case
def states_exchanged() -> None:
    setup = Setup(c=4)
    setup.train()
    states: list[Any] = [None, None]
    dist.all_gather_object(states, setup.state.state_dict())
    setup.state.load_state_dict(states[1 - rank()])


@case
def ignored_by_ddp() -> None:
    network = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 2))
    network._ddp_params_and_buffers_to_ignore = ["1.weight", "1.bias"]
    Setup(network)


@case
def no_device() -> None:
    Setup(device=None)


@case
def cap_not_a_number() -> None:
    Setup(cap=float("nan"))


@case
def sinks_as_a_text() -> None:
    Setup(sinks="events.jsonl")


@case
def sink_of_another_kind() -> None:
    Setup(sinks=["events.jsonl"])


@case
def region_without_a_name() -> None:
    model = DistributedDataParallel(nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 2)))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    adagrain.register(model, optimizer, by=lambda name, parameter: None)  # type: ignore


@case
def loss_of_many() -> None:
    setup = Setup()
    setup.state.loss(setup.model(torch.ones(3, 4)))


@case
def loss_without_a_tensor() -> None:
    Setup().state.loss(3.0)  # type: ignore[arg-type]


@case
def first_step_of_a_resumed_run_on_one() -> None:
    """DDP has not rebuilt its buckets: it does so in the next forward pass, on the other worker."""

    def full(step: Any) -> None:
        raise OSError("disk is full")

    begun = Setup()
    begun.train()
    state = copy.deepcopy(begun.state.state_dict())
    begun.state.close()
    setup = Setup(log=full if rank() == 1 else None)
    setup.state.load_state_dict(state)
    setup.train()


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
def added_later() -> None:
    network = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 2))
    setup = Setup(network)
    setup.train()
    layer = nn.Linear(2, 2)
    network.append(layer)
    setup.optimizer.add_param_group({"params": [*layer.parameters()]})
    setup.train()


@case
def double_precision() -> None:
    Setup(nn.Linear(4, 2).double())


if __name__ == "__main__":
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    CASES[sys.argv[1]]()

"""Demands of adagrain's state on optimizers, in a process group of one."""

from collections.abc import Callable, Sequence

import pytest
import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel

import adagrain

pytestmark = pytest.mark.usefixtures("lone_worker")


def model() -> DistributedDataParallel:
    torch.manual_seed(1)
    return DistributedDataParallel(nn.Sequential(nn.Linear(6, 8), nn.Linear(8, 4)))


def sgd(parameters: Sequence[nn.Parameter]) -> torch.optim.Optimizer:
    return torch.optim.SGD(parameters, lr=0.05)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda p: sgd(p[:3]), r"'1\.bias' must be in the optimizer, but is not"),
        (lambda p: [sgd(p[:1]), sgd(p[2:])], r"'0\.bias' must be in .* optimizers, but is not"),
        (lambda p: [sgd(p), sgd(p[1:2])], r"'0\.bias' must be in one of .*, but is in 2"),
    ],
)
def test_every_parameter_has_one_optimizer(
    make: Callable[[list[nn.Parameter]], object], message: str
) -> None:
    wrapped = model()
    with pytest.raises(ValueError, match=message):
        adagrain.register(wrapped, make(list(wrapped.parameters())), device="golden:")


@pytest.mark.parametrize("parts", [1, 2])
def test_optimizers_are_let_go_of(parts: int) -> None:
    """They step as they did before."""
    wrapped = model()
    parameters = list(wrapped.module.parameters())
    optimizers = [sgd(parameters[part::parts]) for part in range(parts)]
    handle = adagrain.register(wrapped, optimizers, device="golden:", preset="tiny", cadence=None)
    wrapped(torch.ones(2, 6)).sum().backward()
    for optimizer in optimizers:
        optimizer.step()
    handle.close()
    for optimizer in optimizers:
        optimizer.step()  # without another pass
    before = [parameter.detach().clone() for parameter in parameters]
    torch.optim.SGD(parameters, lr=1.0).step()  # not a registered one
    for old, parameter in zip(before, parameters, strict=True):
        assert parameter.grad is not None
        assert torch.equal(parameter, old - parameter.grad)


@pytest.mark.parametrize("fused", [False, True])
def test_a_grad_scaler_works_again_behind_close(fused: bool) -> None:
    wrapped = model()
    network = wrapped.module
    optimizer = torch.optim.SGD(network.parameters(), lr=0.05, fused=fused)
    before = {**vars(optimizer)}
    adagrain.register(wrapped, optimizer, preset="tiny", cadence=None).close()
    assert vars(optimizer).get("_step_supports_amp_scaling") is (fused or None)
    assert vars(optimizer).keys() == before.keys()
    scaler = torch.amp.GradScaler("cpu")
    scaler.scale(network(torch.ones(2, 6)).sum()).backward()
    scaler.step(optimizer)


def test_each_optimizer_steps_once_after_a_pass() -> None:
    wrapped = model()
    parameters = list(wrapped.parameters())
    one, two = sgd(parameters[:2]), torch.optim.Adam(parameters[2:])
    adagrain.register(wrapped, [one, two], device="golden:", preset="tiny", cadence=None)
    wrapped(torch.ones(2, 6)).sum().backward()
    two.step()
    with pytest.raises(RuntimeError, match=r"a step of optimizer 1 \(Adam\) must follow"):
        two.step()
    with pytest.raises(RuntimeError, match=r"but optimizer 0 \(SGD\) did not"):
        wrapped(torch.ones(2, 6)).sum().backward()


@pytest.mark.parametrize(("options", "rate"), [({}, 0.2), ({"cap": 0.3}, 0.3), ({"cap": 9}, 0.4)])
@pytest.mark.parametrize("form", ["register", "state"])
def test_rates_grow_with_cadences_up_to_the_cap(
    form: str, options: dict[str, float], rate: float
) -> None:
    """Four passes with the same gradient, at a learning rate of 0.1."""
    wrapped = DistributedDataParallel(nn.Linear(4, 1, bias=False))
    weight = wrapped.module.weight
    before = weight.detach().clone()
    optimizer = torch.optim.SGD([weight], lr=0.1)
    given = {"device": "golden:", "preset": "tiny", "by": "tensor", "cadence": None}
    given |= {"cadences": {"weight": 4}} | options
    if form == "register":
        adagrain.register(wrapped, optimizer, **given)
    else:
        state = adagrain.AdagrainState(wrapped, optimizer, **given)
        wrapped.register_comm_hook(state, adagrain.adagrain_hook)
    for _ in range(4):
        wrapped(torch.ones(4)).backward()
        optimizer.step()
    assert (weight - before).flatten().tolist() == pytest.approx([-rate] * 4)

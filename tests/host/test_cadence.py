"""The optimizer wrapper, without a distributed run."""

import copy

import pytest
import torch
from torch import nn

from adagrain.host.cadence import CadenceOptimizer
from adagrain.host.regions import regions


def network() -> nn.Sequential:
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 4))


def backward(model: nn.Module, step: int) -> None:
    model.zero_grad()
    x = torch.randn(16, 6, generator=torch.Generator().manual_seed(step))
    model(x).square().mean().backward()


OPTIMIZERS = {
    "sgd": lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9),
    "adam": lambda p: torch.optim.Adam(p, lr=0.01),
    "rmsprop": lambda p: torch.optim.RMSprop(p, lr=0.01, momentum=0.5),
}


@pytest.mark.parametrize("by", ["module", "tensor", "rows:4"])
@pytest.mark.parametrize("kind", OPTIMIZERS)
def test_all_due_equals_the_plain_optimizer(kind: str, by: str) -> None:
    plain, wrapped = network(), network()
    reference = OPTIMIZERS[kind](plain.parameters())
    optimizer = CadenceOptimizer(OPTIMIZERS[kind](wrapped.parameters()), regions(wrapped, by))
    for step in range(5):
        backward(plain, step)
        reference.step()
        backward(wrapped, step)
        optimizer.step()
    for a, b in zip(plain.parameters(), wrapped.parameters(), strict=True):
        assert torch.equal(a, b)


def test_only_due_regions_change() -> None:
    model = network()
    optimizer = CadenceOptimizer(
        torch.optim.SGD(model.parameters(), lr=0.1), regions(model, "rows:2")
    )
    before = copy.deepcopy(model.state_dict())
    backward(model, 0)
    optimizer.set_due({1: 1})  # the lower half of the first matrix
    optimizer.step()
    after = model.state_dict()
    assert torch.equal(before["0.weight"][:4], after["0.weight"][:4])
    assert not torch.equal(before["0.weight"][4:], after["0.weight"][4:])
    assert torch.equal(before["2.weight"], after["2.weight"])


@pytest.mark.parametrize(("cadence", "cap", "factor"), [(4, 0.2, 2), (4, 1.0, 4), (4, 0.05, 1)])
def test_the_rate_follows_the_cadence_up_to_the_cap(
    cadence: int, cap: float, factor: float
) -> None:
    model, reference = network(), network()
    optimizer = CadenceOptimizer(
        torch.optim.SGD(model.parameters(), lr=0.1), regions(model), cap=cap
    )
    plain = torch.optim.SGD(reference.parameters(), lr=0.1 * factor)
    backward(model, 0)
    backward(reference, 0)
    optimizer.set_due({0: cadence, 1: cadence})
    optimizer.step()
    plain.step()
    for a, b in zip(model.parameters(), reference.parameters(), strict=True):
        assert torch.equal(a, b)
    assert optimizer.param_groups[0]["lr"] == 0.1


def test_adam_counts_the_steps_of_each_block() -> None:
    model = network()
    inner = torch.optim.Adam(model.parameters(), lr=0.01)
    optimizer = CadenceOptimizer(inner, regions(model, "rows:2"))
    for step, due in enumerate([{0: 1}, {0: 1, 1: 1}, {0: 1}]):
        backward(model, step)
        optimizer.set_due(due)
        optimizer.step()
    counts = sorted(int(state["step"]) for state in inner.state.values())
    assert counts == [1, 3]


@pytest.mark.parametrize("by", ["module", "rows:4"])
def test_state_survives(by: str) -> None:
    def run(model: nn.Module, optimizer: CadenceOptimizer, steps: range) -> None:
        for step in steps:
            backward(model, step)
            optimizer.step()

    whole = network()
    first = CadenceOptimizer(torch.optim.Adam(whole.parameters(), lr=0.01), regions(whole, by))
    run(whole, first, range(3))
    state = copy.deepcopy((whole.state_dict(), first.state_dict()))
    run(whole, first, range(3, 6))
    resumed = network()
    second = CadenceOptimizer(torch.optim.Adam(resumed.parameters(), lr=0.5), regions(resumed, by))
    resumed.load_state_dict(state[0])
    second.load_state_dict(state[1])
    run(resumed, second, range(3, 6))
    for a, b in zip(whole.parameters(), resumed.parameters(), strict=True):
        assert torch.equal(a, b)


def test_schedulers_work_on_the_wrapped_optimizer() -> None:
    model = network()
    inner = torch.optim.SGD(model.parameters(), lr=0.1)
    optimizer = CadenceOptimizer(inner, regions(model))
    scheduler = torch.optim.lr_scheduler.StepLR(inner, step_size=1, gamma=0.5)
    optimizer.set_due({})  # a step in which nothing is due still counts for the scheduler
    backward(model, 0)
    optimizer.step()
    scheduler.step()
    assert optimizer.param_groups[0]["lr"] == 0.05


def test_refusals() -> None:
    model = network()
    with pytest.raises(TypeError, match="cannot wrap LBFGS: it evaluates the loss several times"):
        CadenceOptimizer(torch.optim.LBFGS(model.parameters()), regions(model))

    class Muon(torch.optim.SGD):
        pass

    with pytest.raises(TypeError, match="cannot wrap Muon where regions are blocks of rows"):
        CadenceOptimizer(Muon(model.parameters(), lr=0.1), regions(model, "rows:2"))
    inner = torch.optim.SGD(model[0].parameters(), lr=0.1)
    with pytest.raises(ValueError, match=r"parameter '2\.weight' must be in the optimizer"):
        CadenceOptimizer(inner, regions(model))
    with pytest.raises(ValueError, match="cap must be positive, not 0"):
        CadenceOptimizer(torch.optim.SGD(model.parameters(), lr=0.1), regions(model), cap=0)


def test_closures_and_gradient_scalers_are_refused() -> None:
    model = network()
    optimizer = CadenceOptimizer(torch.optim.SGD(model.parameters(), lr=0.1), regions(model))
    with pytest.raises(TypeError, match="step must be called without a closure"):
        optimizer.step(lambda: 0.0)  # type: ignore[arg-type]
    scaler = torch.amp.GradScaler("cpu")
    scaler.scale(model(torch.ones(2, 6)).sum()).backward()
    with pytest.raises(TypeError, match="CadenceOptimizer does not work with GradScaler"):
        scaler.step(optimizer)  # type: ignore[arg-type]

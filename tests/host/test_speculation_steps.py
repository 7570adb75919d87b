"""Steps of speculation on one worker, whose guesses are the truth: what is kept, and done again."""

import random
from collections.abc import Callable
from typing import Any

import pytest
import torch
from speculation_setup import Residual, begun, plain
from torch import nn
from torch.nn.parallel import DistributedDataParallel

import adagrain
from adagrain.host.regions.regions import ParameterSlice, Region, Regions
from adagrain.host.speculation.speculate import Speculation

pytestmark = pytest.mark.usefixtures("lone_worker")


@pytest.fixture(autouse=True)
def seeded() -> None:
    torch.manual_seed(5)


def sgd(model: nn.Module) -> torch.optim.Optimizer:
    return torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)


def reject(speculation: Speculation, *regions: int) -> None:
    """Have guesses of regions be rejected, by their numbers."""
    tags = speculation._runtime._tags  # type: ignore[union-attr]
    real = tags.resolve
    tags.resolve = lambda region, accepted: real(region, accepted=region not in regions)  # type: ignore[method-assign]


def loss_of(model: nn.Module, batch: int = 0) -> Callable[[], torch.Tensor]:
    x = torch.randn(8, 12, generator=torch.Generator().manual_seed(batch))
    return lambda: model(x).square().mean()


class Counted(nn.Linear):
    """Counts what it computes."""

    def __init__(self) -> None:
        super().__init__(12, 12)
        self.calls = 0

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.calls += 1
        return super().forward(x)


def test_modules_in_front_of_the_first_reject_are_not_run_again() -> None:
    model = nn.Sequential(nn.Sequential(Counted(), nn.Tanh()), Counted(), Counted(), Counted())
    speculation = begun(model, sgd(model), tau=0)
    reject(speculation, 2, 3)
    for step in range(3):
        speculation.step(loss_of(model, step))
    calls = [module.calls for module in model.modules() if isinstance(module, Counted)]
    assert calls == [3, 3, 5, 5]
    assert speculation.passes_redone == 2
    assert speculation.counts.accepts == {"0.0": 2, "1": 2, "2": 0, "3": 0}
    speculation.close()


def test_passes_behind_a_reject_are_run_again_and_those_in_front_are_not() -> None:
    """The update arrives when the second of three passes looks for it."""
    model = nn.Sequential(Counted(), Counted())
    speculation = begun(model, sgd(model), tau=0, looks=lambda: 10**9)
    reject(speculation, 1)
    seen: list[int] = []
    for _ in range(2):
        seen.clear()
        passes = [loss_of(model, number) for number in range(3)]
        told = [lambda n=n, run=run: (seen.append(n), run())[1] for n, run in enumerate(passes)]
        speculation.step(*told)
    assert seen == [0, 1, 2, 0, 1, 2]
    calls = [module.calls for module in model if isinstance(module, Counted)]
    assert calls == [3 + 3 + 2, 3 + 3 + 3]
    speculation.close()


def test_an_update_that_is_there_is_bound_and_nothing_is_guessed() -> None:
    model = plain()
    speculation = begun(model, sgd(model), looks=lambda: 0)
    for step in range(3):
        speculation.step(loss_of(model, step))
    assert speculation.counts.guessed == 0
    speculation.close()


def test_random_numbers_of_python_and_numpy_are_drawn_again() -> None:
    model = plain()
    speculation = begun(model, sgd(model), tau=0)
    reject(speculation, 3)
    drawn: list[float] = []

    def closure() -> torch.Tensor:
        drawn.append(random.random())
        return model(torch.ones(8, 12) * drawn[-1]).square().mean()

    for _ in range(2):
        speculation.step(closure)
    first, second, again = drawn
    assert first != second == again
    speculation.close()


def test_a_closure_that_takes_another_batch_is_refused() -> None:
    model = plain()
    speculation = begun(model, sgd(model), tau=0)
    reject(speculation, 3)
    batches = iter(torch.randn(9, 8, 12))
    with pytest.raises(RuntimeError, match=r"the inputs of '\(model\)' \(call 0\) differ"):
        for _ in range(2):
            speculation.step(lambda: model(next(batches)).square().mean())


def test_a_closure_that_draws_from_its_own_generator_is_refused() -> None:
    model, generator = nn.Sequential(nn.Linear(12, 12), nn.Linear(12, 2)), torch.Generator()
    speculation = begun(model, sgd(model), tau=0)
    reject(speculation, 1)

    def closure() -> torch.Tensor:
        noise = torch.randn(8, 12, generator=generator)
        return model[1](model[0](torch.ones(8, 12)) + noise).square().mean()

    with pytest.raises(RuntimeError, match=r"the inputs of '1' \(call 1\) differ"):
        for _ in range(2):
            speculation.step(closure)


def test_what_modules_calls_do_not_show_is_said_once(caplog: pytest.LogCaptureFixture) -> None:
    model = Residual()
    speculation = begun(model, sgd(model), tau=0)
    reject(speculation, 3)
    for step in range(4):
        speculation.step(loss_of(model, step))
    said = [record.message for record in caplog.records]
    assert said == [
        "parameter 'last.weight' is used outside of its module's calls: a pass whose guess is "
        "rejected is done again whole",
        "parameter 'last.bias' is used outside of its module's calls: a pass whose guess is "
        "rejected is done again whole",
        "results branch outside of modules' calls: a pass whose guess is rejected is done again "
        "whole",
    ]
    speculation.close()


@pytest.mark.parametrize(
    "look",
    [
        lambda model, optimizer, _: model(torch.ones(1, 12)),
        lambda model, optimizer, _: model.state_dict(),
        lambda model, optimizer, _: optimizer.state_dict(),
        lambda model, optimizer, speculation: speculation.settle(),
        lambda model, optimizer, speculation: speculation.state_dict(),
        lambda model, optimizer, speculation: speculation.close(),
    ],
)
def test_whoever_looks_sees_weights_that_are_up_to_date(look: Callable[..., Any]) -> None:
    torch.manual_seed(1)
    model, other = nn.Linear(12, 2), nn.Linear(12, 2)
    other.load_state_dict(model.state_dict())
    optimizer, plainly = sgd(model), sgd(other)
    speculation = begun(model, optimizer)
    for step in range(3):
        speculation.step(loss_of(model, step))
        plainly.zero_grad()
        loss_of(other, step)().backward()
        before = other.weight.detach().clone()
        plainly.step()
    assert torch.equal(model.weight, before)
    look(model, optimizer, speculation)
    assert torch.equal(model.weight, other.weight)
    assert isinstance(model.weight, nn.Parameter) and model.weight.grad is None


def test_a_closed_model_is_as_it_was() -> None:
    model = plain()
    parameters, forwards = [*model.parameters()], [m.__dict__.keys() for m in model.modules()]
    speculation = begun(model, sgd(model))
    for step in range(2):
        speculation.step(loss_of(model, step))
    speculation.close()
    assert all(now is then for now, then in zip(model.parameters(), parameters, strict=True))
    assert [m.__dict__.keys() for m in model.modules()] == forwards
    assert not any(module._forward_pre_hooks for module in model.modules())
    with pytest.raises(RuntimeError, match=r"must not be used after close\(\)"):
        speculation.step(loss_of(model))


class Kept(torch.optim.SGD):
    """Keeps a number in its groups."""

    def step(self, closure: Any = None) -> None:
        super().step(closure)
        self.param_groups[0]["taken"] = 1


class Apart(nn.Module):
    """Has parameters that no region has."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Linear(12, 2)
        self.inner.in_regions = False
        self.outer = nn.Linear(12, 2)


def shared(model: nn.Module) -> Regions:
    name, weight = "0.weight", model[0].weight  # type: ignore[index]
    both = [Region(own, (ParameterSlice(name, weight),)) for own in ("a", "b")]
    return Regions([*both, *adagrain.regions(model, "tensor")[1:]])


def hooked() -> nn.Module:
    model = plain()
    model[0].weight.register_hook(lambda gradient: gradient)  # type: ignore[index]
    return model


WRONG: dict[str, tuple[Callable[[], nn.Module], dict[str, Any], str]] = {
    "ddp": (
        lambda: DistributedDataParallel(plain()),
        {},
        "model must not be a DistributedDataParallel: speculation exchanges gradients by itself",
    ),
    "compiled": (
        lambda: nn.Sequential(torch.compile(nn.Linear(12, 2))),
        {},
        r"cannot speculate with module '0' \(OptimizedModule\)",
    ),
    "hooked": (hooked, {}, "parameter '0.weight' must have no hooks, but has"),
    "rows": (plain, {"by": "rows:2"}, r"'0.weight\[0:8\]' is a block of rows"),
    "in none": (Apart, {}, "parameter 'inner.weight' must be in one region, but is in none"),
    "in two": (plain, {"by": shared}, "'0.weight' must be in one region, but is in 'a' and 'b'"),
    "tiny": (plain, {"preset": "tiny"}, "a device with the unit 'difference', which device preset"),
    "kind": (plain, {"make": torch.optim.LBFGS}, "does not work with LBFGS"),
    "not all": (
        plain,
        {"make": lambda p: torch.optim.SGD([*p][1:], lr=0.1)},
        "parameter '0.weight' must be in the optimizer, but is not",
    ),
    "tau": (plain, {"tau": -1}, "tau must be a number from 0 on, not -1"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_speculation_cannot_begin_with_is_named(case: str) -> None:
    make, options, message = WRONG[case]
    model, options = make(), dict(options)
    kind = options.pop("make", lambda parameters: torch.optim.SGD(parameters, lr=0.1))
    if options.get("by") is shared:
        options["by"] = shared(model)
    with pytest.raises((TypeError, ValueError), match=message):
        adagrain.speculate(model, kind(model.parameters()), **options)


@pytest.mark.parametrize(
    ("closures", "message"),
    [
        ([], "step must be given a closure, or several"),
        ([lambda: None], "a closure must return the loss, a tensor of one element"),
        ([lambda: torch.ones(2, requires_grad=True)], "a tensor of one element"),
        ([lambda: torch.ones(())], "that depends on the parameters"),
    ],
)
def test_closures_must_return_a_loss(closures: list[Any], message: str) -> None:
    model = plain()
    with pytest.raises(TypeError, match=message):
        begun(model, sgd(model)).step(*closures)


def test_others_must_not_step() -> None:
    model = plain()
    optimizer = sgd(model)
    speculation = begun(model, optimizer)
    with pytest.raises(RuntimeError, match=r"SGD.step\(\) must not be called: step\(closure\)"):
        optimizer.step()
    speculation.close()
    optimizer.step()


def test_an_optimizer_that_keeps_something_in_its_groups() -> None:
    model = plain()
    speculation = begun(model, Kept(model.parameters(), lr=0.1), depth=0)
    with pytest.raises(TypeError, match="cannot speculate with Kept: it keeps 'taken' in its"):
        speculation.step(loss_of(model))


def test_sparse_gradients_are_refused() -> None:
    model = nn.Embedding(4, 2, sparse=True)
    speculation = begun(model, sgd(model))
    with pytest.raises(TypeError, match="gradients must be dense, but that of 'weight' is sparse"):
        speculation.step(lambda: model(torch.tensor([1])).sum())


def test_recurrent_and_tied_modules() -> None:
    """They have parameters in several places."""

    class Network(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embed = nn.Embedding(6, 8)
            self.recurrent = nn.LSTM(8, 8)
            self.out = nn.Linear(8, 6, bias=False)
            self.out.weight = self.embed.weight

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.out(self.recurrent(self.embed(x))[0])

    def trained(depth: int) -> list[torch.Tensor]:
        torch.manual_seed(3)
        model = Network()
        speculation = begun(model, sgd(model), tau=0, depth=depth)
        reject(speculation, 1)
        for step in range(4):
            x = torch.randint(6, (5, 2), generator=torch.Generator().manual_seed(step))
            speculation.step(lambda x=x: model(x).square().mean())
        assert speculation.passes_redone == 3 * depth
        speculation.close()
        return [*model.parameters()]

    rows = zip(trained(0), trained(1), strict=True)
    assert all(torch.equal(off, on) for off, on in rows)

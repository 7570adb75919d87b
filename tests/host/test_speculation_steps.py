"""Steps of speculation on one worker, whose guesses are the truth: what is kept, and done again."""

import time
from collections.abc import Callable
from typing import Any

import pytest
import torch
from speculation_setup import Residual, begun, plain, reject, sgd
from torch import nn

from adagrain.host.distributed.timing import Timing

pytestmark = pytest.mark.usefixtures("lone_worker")


@pytest.fixture(autouse=True)
def seeded() -> None:
    torch.manual_seed(5)


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


def test_what_modules_calls_do_not_show_is_said_once(caplog: pytest.LogCaptureFixture) -> None:
    model = Residual()
    speculation = begun(model, sgd(model), tau=0)
    reject(speculation, 3)
    for step in range(4):
        speculation.step(loss_of(model, step))
    said = [record.message for record in caplog.records]
    assert said == [
        f"{what}: a pass whose guess is rejected is done again whole"
        for what in (
            "parameters are used outside of modules' calls ('last.weight', 'last.bias')",
            "gradients meet outside of modules' calls",
        )
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
    parameters, attributes = [*model.parameters()], [[*vars(m)] for m in model.modules()]
    speculation = begun(model, sgd(model))
    for step in range(2):
        speculation.step(loss_of(model, step))
    speculation.close()
    assert all(now is then for now, then in zip(model.parameters(), parameters, strict=True))
    assert [[*vars(m)] for m in model.modules()] == attributes
    assert not any(module._forward_pre_hooks for module in model.modules())
    assert not model._state_dict_pre_hooks
    with pytest.raises(RuntimeError, match=r"must not be used after close\(\)"):
        speculation.step(loss_of(model))


@pytest.mark.parametrize(("cast", "calls"), [(False, 8), (True, 11)])
def test_a_module_that_is_called_before_and_behind_a_reject(cast: bool, calls: int) -> None:
    """Its gradients meet at its weight; in autocast, at the cast of it."""

    def trained(depth: int) -> tuple[list[torch.Tensor], int]:
        torch.manual_seed(3)
        shared = Counted()
        model = nn.Sequential(shared, nn.Linear(12, 12), shared)
        speculation = begun(model, sgd(model), tau=0, depth=depth)
        reject(speculation, 1)

        def closure() -> torch.Tensor:
            with torch.autocast("cpu", torch.bfloat16, enabled=cast):
                return model(torch.linspace(-1, 1, 96).view(8, 12)).float().square().mean()

        for _ in range(3):
            speculation.step(closure)
        speculation.close()
        return [*model.parameters()], shared.calls

    (off, _), (on, counted) = trained(0), trained(1)
    assert all(torch.equal(one, own) for one, own in zip(off, on, strict=True))
    assert counted == calls


class Twice(torch.autograd.Function):
    """An operation that is written in Python."""

    @staticmethod
    def forward(context: Any, x: torch.Tensor) -> torch.Tensor:
        return 2 * x

    @staticmethod
    def backward(context: Any, gradient: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
        return 2 * gradient


class Users(nn.Module):
    """A tensor that is used by a function first, or last, and by two modules."""

    def __init__(self, function_is_first: bool) -> None:
        super().__init__()
        self.base, self.last = Counted(), Counted()
        self.one, self.two = Counted(), Counted()
        self._function_is_first = function_is_first

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.base(x)
        if self._function_is_first:
            y = torch.tanh(Twice.apply(x))
            y = y + self.one(x) + self.two(x)
        else:
            y = self.one(x) + self.two(x)
            y = y + torch.tanh(Twice.apply(x))
        return self.last(y)


@pytest.mark.parametrize("first", [False, True])
def test_gradients_are_added_up_in_the_order_of_a_single_run(first: bool) -> None:
    """Outputs of modules are kept where it stays the same."""

    def trained(depth: int) -> tuple[list[torch.Tensor], list[int]]:
        torch.manual_seed(3)
        model = Users(first)
        speculation = begun(model, sgd(model), tau=0, depth=depth)
        reject(speculation, 1)
        for step in range(4):
            speculation.step(loss_of(model, step))
        speculation.close()
        return [*model.parameters()], [model.base.calls, model.last.calls]

    (off, _), (on, calls) = trained(0), trained(1)
    assert all(torch.equal(one, own) for one, own in zip(off, on, strict=True))
    assert calls == ([7, 8] if first else [4, 7])


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


def test_several_optimizers_and_groups() -> None:
    def made(model: nn.Module) -> list[torch.optim.Optimizer]:
        first, *others = (m.parameters() for m in model.modules() if isinstance(m, nn.Linear))
        groups = [{"params": own, "lr": 0.01 * (n + 1)} for n, own in enumerate(others)]
        return [torch.optim.SGD(first, lr=0.1, momentum=0.9), torch.optim.AdamW(groups)]

    def network() -> nn.Module:
        torch.manual_seed(2)
        return nn.Sequential(nn.Linear(12, 8), nn.Tanh(), nn.Linear(8, 8), nn.Linear(8, 2))

    model, other = network(), network()
    speculation, plainly = begun(model, made(model), tau=0), made(other)
    reject(speculation, 1)
    for step in range(4):
        speculation.step(loss_of(model, step))
        other.zero_grad()
        loss_of(other, step)().backward()
        for optimizer in plainly:
            optimizer.step()
    assert speculation.counts.accepts == {"0": 3, "2": 0, "3": 3}
    speculation.close()
    rows = zip(model.parameters(), other.parameters(), strict=True)
    assert all(torch.equal(one, own) for one, own in rows)


def test_times_are_those_for_which_an_update_was_missing() -> None:
    """Whether or not something was computed meanwhile."""
    model = plain()
    speculation = begun(model, sgd(model), tau=0, timing=Timing())

    def closure() -> torch.Tensor:
        time.sleep(0.2)
        return model(torch.ones(8, 12)).square().mean()

    for _ in range(3):
        speculation.step(closure)
    speculation.settle()
    assert speculation.last_step
    agreed = speculation.last_step.agreed
    assert 200_000 <= agreed.stall < 2_000_000 and 200_000 <= agreed.redo < 2_000_000
    speculation.close()

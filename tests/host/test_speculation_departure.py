"""Gradients that begin their way within the backward pass: when they do, and when they wait."""

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
import torch
from speculation_setup import begun, sgd
from torch import nn
from torch.utils.checkpoint import checkpoint

from adagrain.host.speculation.link import Link
from adagrain.host.speculation.speculate import Speculation

pytestmark = pytest.mark.usefixtures("lone_worker")


class Noted(torch.autograd.Function):
    """Notes that a backward pass comes by."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, note: Callable[[], None]) -> torch.Tensor:
        ctx.note = note
        return x.view_as(x)

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor, None]:  # type: ignore[override]
        ctx.note()
        return gradient, None


class Layers(nn.Module):
    """Three layers; in a backward pass, ``events`` tells in front of which of them it is.

    In front of each it takes some ``seconds`` longer.
    """

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(6, 6) for _ in range(3))
        self.events: list[str] = []
        self.seconds = 0.0

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for number, layer in enumerate(self.layers):
            x = Noted.apply(layer(x).tanh(), partial(self.note, number))
        return x

    def note(self, number: int) -> None:
        self.events.append(f"layer {number}")
        time.sleep(self.seconds)


def watched(**options: Any) -> tuple[Layers, Speculation]:
    """A model and speculation whose events tell of exchanges, too."""
    torch.manual_seed(4)
    model = Layers()
    speculation = begun(model, sgd(model), tau=0, **options)
    gather = speculation._runtime._stages.gather  # type: ignore[union-attr]
    real = gather.begin_exchange

    def begin_exchange(*arguments: Any) -> Any:
        model.events.append("exchange")
        return real(*arguments)

    gather.begin_exchange = begin_exchange  # type: ignore[method-assign]
    return model, speculation


def loss_of(model: nn.Module, batch: int = 0) -> torch.Tensor:
    x = torch.randn(8, 6, generator=torch.Generator().manual_seed(batch))
    return model(x).square().mean()


def events_of(model: Layers, speculation: Speculation, passes: int = 1) -> list[str]:
    model.events.clear()
    speculation.step(*(lambda n=n: loss_of(model, n) for n in range(passes)))
    return [*model.events]


OVERLAPPED = ["layer 2", "exchange", "layer 1", "exchange", "layer 0", "exchange"]
BEHIND = ["layer 2", "layer 1", "layer 0", "exchange", "exchange", "exchange"]


def test_buckets_depart_as_their_gradients_get_ready() -> None:
    model, speculation = watched(depth=0)
    assert events_of(model, speculation) == OVERLAPPED
    assert events_of(model, speculation, passes=2) == ["layer 2", "layer 1", "layer 0", *OVERLAPPED]
    speculation.close()


def test_a_bucket_waits_for_its_last_gradient() -> None:
    model, speculation = watched(depth=0, bucket_bytes=2 * 4 * 42)
    assert events_of(model, speculation) == [
        *("layer 2", "layer 1", "exchange", "layer 0", "exchange")
    ]
    speculation.close()


@pytest.mark.parametrize("broken", ["forward pass", "backward pass"])
def test_a_step_that_fails_begins_all_its_collectives(broken: str) -> None:
    """The others wait in each of them; and none that is under way is begun again."""
    model, speculation = watched(depth=0)
    events_of(model, speculation)
    model.events.clear()
    real = model.note

    def note(number: int) -> None:
        real(number)
        if number == 1:
            raise ArithmeticError("layer 1 is broken")

    def closure() -> torch.Tensor:
        if broken == "forward pass":
            raise ArithmeticError("layer 1 is broken")
        model.note = note  # type: ignore[method-assign]
        return loss_of(model)

    with pytest.raises(ArithmeticError, match="layer 1 is broken"):
        speculation.step(closure)
    assert model.events.count("exchange") == 3
    speculation.close()


def test_nothing_departs_while_a_guess_is_unresolved() -> None:
    model, speculation = watched()
    assert events_of(model, speculation) == OVERLAPPED
    assert events_of(model, speculation) == BEHIND
    assert speculation.counts.guessed == 1 and not speculation.passes_redone
    speculation.close()


def test_what_is_accepted_within_the_backward_pass_lets_buckets_depart() -> None:
    """Four looks in the forward pass; in the backward pass one for each weight and bias."""
    model, speculation = watched(looks=lambda: 4 + 2)
    events_of(model, speculation)
    assert events_of(model, speculation) == [
        *("layer 2", "layer 1", "exchange", "exchange", "layer 0", "exchange")
    ]
    assert speculation.counts.accepts == {f"layers.{n}": 1 for n in range(3)}
    speculation.close()


def test_a_reject_breaks_the_backward_pass_off() -> None:
    model, speculation = watched(looks=lambda: 4 + 1)
    tags = speculation._runtime._tags  # type: ignore[union-attr]
    real = tags.resolve
    tags.resolve = lambda region, **_: real(region, accepted=False, worthy=True)  # type: ignore[method-assign]
    events_of(model, speculation)
    assert events_of(model, speculation) == ["layer 2", *OVERLAPPED]
    speculation.close()


def plainly(model: nn.Module, steps: int) -> list[torch.Tensor]:
    optimizer = sgd(model)
    for step in range(steps):
        optimizer.zero_grad()
        loss_of(model, step).backward()
        optimizer.step()
    return [*model.parameters()]


class Checkpointed(nn.Module):
    """A graph that is made within the backward pass, with a weight that is outside of it, too."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.shared = nn.Linear(6, 6), nn.Linear(6, 6)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = checkpoint(self.shared, self.first(x), use_reentrant=True)
        return self.shared(x.tanh())


@pytest.mark.parametrize("depth", [0, 1])
def test_gradients_of_hidden_graphs_depart_when_they_are_whole(depth: int) -> None:
    torch.manual_seed(4)
    model, other = Checkpointed(), Checkpointed()
    other.load_state_dict(model.state_dict())
    speculation = begun(model, sgd(model), tau=0, depth=depth)
    for step in range(4):
        speculation.step(lambda step=step: loss_of(model, step))
    speculation.close()
    rows = zip(model.parameters(), plainly(other, 4), strict=True)
    assert all(torch.equal(own, wanted) for own, wanted in rows)


class Hiding(torch.autograd.Function):
    """Runs a backward pass of its own, to leaves that it does not show."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, layer: nn.Module) -> torch.Tensor:
        ctx.layer = layer
        ctx.save_for_backward(x)
        return layer(x)

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor, None]:  # type: ignore[override]
        x = ctx.saved_tensors[0].detach().requires_grad_()
        with torch.enable_grad():
            ctx.layer(x).backward(gradient)
        return x.grad, None


def test_a_gradient_that_gets_more_after_it_has_departed_is_refused() -> None:
    model = nn.Sequential(nn.Linear(6, 6), nn.Linear(6, 6))
    speculation = begun(model, sgd(model), depth=0)

    def closure() -> torch.Tensor:
        x = Hiding.apply(model[0](torch.ones(2, 6)), model[1])
        return model[1](x).square().mean()

    with pytest.raises(RuntimeError, match="must get its gradient at one time in a backward pass"):
        speculation.step(closure)


def test_buckets_are_chosen_after_three_steps_and_kept_in_the_state() -> None:
    model, speculation = watched(depth=0, bucket_bytes=None)
    assert speculation.buckets == [("layers.2", "layers.1", "layers.0")]
    planner = speculation._runtime._planner  # type: ignore[union-attr]
    planner._link = Link(latency=0.0, seconds_per_byte=1e-4, turns=4)  # bytes are dear
    model.seconds = 0.005
    seen = [events_of(model, speculation).count("exchange") for _ in range(4)]
    assert seen == [1, 1, 1, 2]
    chosen = [("layers.2",), ("layers.1", "layers.0")]  # all must wait for the first alone
    assert speculation.buckets == chosen
    state = speculation.state_dict()
    speculation.close()
    model, speculation = watched(depth=0, bucket_bytes=None)
    speculation.load_state_dict(state)
    assert [events_of(model, speculation).count("exchange") for _ in range(4)] == [2] * 4
    assert speculation.buckets == chosen
    state["runtime"]["buckets"] = [2]
    with pytest.raises(ValueError, match="state must be of 3 regions in buckets, not of 2"):
        speculation.load_state_dict(state)
    speculation.close()


def test_buckets_of_a_given_size_stay() -> None:
    model, speculation = watched(depth=0)
    before = speculation.buckets
    for _ in range(5):
        events_of(model, speculation)
    assert speculation.buckets == before
    assert speculation.state_dict()["runtime"]["buckets"] is None
    speculation.close()

"""What a script changes while speculation trains: taken into account, or refused by name."""

import copy
from collections.abc import Callable
from typing import Any

import pytest
import torch
from speculation_setup import begun, plain, sgd
from torch import nn

from adagrain.host.speculation.speculate import Speculation

pytestmark = pytest.mark.usefixtures("lone_worker")


class Counting(torch.optim.SGD):
    """Keeps something of its own beside its state."""

    def __init__(self, parameters: Any, kept: Any) -> None:
        super().__init__(parameters, lr=0.1)
        self.kept = kept

    def step(self, closure: Any = None) -> None:
        if isinstance(self.kept, list):
            self.kept.append(1)
        elif isinstance(self.kept, dict):
            self.kept["taken"] += 1
        else:
            self.kept += 1
        super().step(closure)


def batch(step: int) -> torch.Tensor:
    return torch.randn(8, 12, generator=torch.Generator().manual_seed(step))


def train(speculation: Speculation, model: nn.Module, steps: range) -> None:
    for step in steps:
        speculation.step(lambda step=step: model(batch(step)).square().mean())


def weights(model: nn.Module) -> list[torch.Tensor]:
    return [own.detach().clone() for own in model.parameters()]


def equal(some: list[torch.Tensor], others: list[torch.Tensor]) -> bool:
    return all(torch.equal(own, other) for own, other in zip(some, others, strict=True))


@pytest.mark.parametrize("depth", [0, 1])
@pytest.mark.parametrize("kept", [0, 0.5, torch.zeros(1), [1], {"taken": 2}], ids=repr)
def test_an_optimizer_that_keeps_something_as_an_attribute(kept: Any, depth: int) -> None:
    model = plain()
    speculation = begun(model, Counting(model.parameters(), copy.deepcopy(kept)), depth=depth)
    with pytest.raises(TypeError, match="cannot speculate with Counting: it keeps 'kept' as an"):
        train(speculation, model, range(3))


@pytest.mark.parametrize("kind", [torch.optim.SGD, torch.optim.AdamW, torch.optim.Adagrad])
def test_optimizers_that_note_what_they_have_checked(kind: type[torch.optim.Optimizer]) -> None:
    model = plain()
    speculation = begun(model, kind(model.parameters(), lr=0.1, fused=True))  # type: ignore[call-arg]
    train(speculation, model, range(3))
    speculation.close()


def load_all(model: nn.Module, speculation: Speculation, kept: dict[str, Any]) -> None:
    model.load_state_dict(kept["model"])
    speculation.load_state_dict(kept["speculation"])


def load_parts(model: nn.Module, speculation: Speculation, kept: dict[str, Any]) -> None:
    for name, module in model.named_children():
        own = {
            key.removeprefix(f"{name}."): value
            for key, value in kept["model"].items()
            if key.startswith(f"{name}.")
        }
        module.load_state_dict(own)
    speculation.load_state_dict(kept["speculation"])


def load_optimizer_first(model: nn.Module, speculation: Speculation, kept: dict[str, Any]) -> None:
    speculation._optimizers[0].load_state_dict(kept["optimizer"])
    model.load_state_dict(kept["model"])


@pytest.mark.parametrize("load", [load_all, load_parts, load_optimizer_first])
@pytest.mark.parametrize("depth", [1, 3])
def test_going_back_to_what_was_saved(
    load: Callable[[nn.Module, Speculation, dict[str, Any]], None], depth: int
) -> None:
    torch.manual_seed(1)
    model = plain()
    optimizer = sgd(model)
    speculation = begun(model, optimizer, depth=depth)
    train(speculation, model, range(4))
    kept = copy.deepcopy(
        {
            "model": model.state_dict(),
            "optimizer": optimizer.state_dict(),
            "speculation": speculation.state_dict(),
        }
    )
    wanted = weights(model)
    train(speculation, model, range(4, 7))
    load(model, speculation, copy.deepcopy(kept))
    speculation.settle()
    assert equal(weights(model), wanted)
    assert str(optimizer.state_dict()) == str(kept["optimizer"])


def with_teacher(depth: int) -> tuple[list[torch.Tensor], dict[str, Any]]:
    """Weights after steps towards a model that has other weights, and these."""
    torch.manual_seed(1)
    model = nn.Sequential(nn.Linear(12, 8), nn.Tanh(), nn.Linear(8, 2))
    others = {name: own.detach() * 2 for name, own in model.named_parameters()}
    speculation = begun(model, sgd(model), tau=0, depth=depth)

    def closure(step: int) -> torch.Tensor:
        with torch.no_grad():
            target = torch.func.functional_call(model, others, (batch(step),))
        return nn.functional.mse_loss(model(batch(step)), target)

    for step in range(6):
        speculation.step(lambda step=step: closure(step))
    speculation.close()
    return weights(model), others


def test_a_model_called_with_other_weights_has_these() -> None:
    wanted, _ = with_teacher(0)
    found, others = with_teacher(1)
    assert equal(found, wanted)
    assert not any(isinstance(own, nn.Parameter) for own in others.values())


def with_scaled(depth: int) -> list[torch.Tensor]:
    """Weights after steps in which the model is called with what a closure makes of its weights."""
    torch.manual_seed(1)
    model = nn.Sequential(nn.Linear(12, 8), nn.Tanh(), nn.Linear(8, 2))
    speculation = begun(model, sgd(model), tau=0, depth=depth)

    def closure(step: int) -> torch.Tensor:
        scaled = {name: own * 0.5 for name, own in model.named_parameters()}
        return torch.func.functional_call(model, scaled, (batch(step),)).square().mean()

    for step in range(6):
        speculation.step(lambda step=step: closure(step))
    speculation.close()
    return weights(model)


def test_a_model_called_with_what_is_made_of_its_weights() -> None:
    assert equal(with_scaled(1), with_scaled(0))


def test_weights_of_an_earlier_closure() -> None:
    model = nn.Sequential(nn.Linear(12, 8), nn.Tanh(), nn.Linear(8, 2))
    speculation, kept = begun(model, sgd(model), tau=0), {}

    def closure() -> torch.Tensor:
        own = kept.setdefault("own", model[0].weight) if speculation.steps else model[0].weight
        return model(batch(0)).square().mean() + own.square().sum()

    with pytest.raises(RuntimeError, match=r"'0.weight' must be used as the model has it when a"):
        for _ in range(6):
            speculation.step(closure)


def test_parameters_that_were_listed_before() -> None:
    """Though no guess is rejected: their penalty would be missing where a guess is bound."""
    model = nn.Sequential(nn.Linear(12, 8), nn.Tanh(), nn.Linear(8, 2))
    listed = [*model.parameters()]
    speculation = begun(model, sgd(model), tau=0)

    def closure(parameters: list[nn.Parameter]) -> torch.Tensor:
        return model(batch(0)).square().mean() + sum(own.square().sum() for own in parameters)

    speculation.step(lambda: closure([*model.parameters()]))
    with pytest.raises(RuntimeError, match=r"'0.weight' must be used .*: take it from the model"):
        for _ in range(4):
            speculation.step(lambda: closure(listed))


def test_hooks_on_an_optimizers_steps() -> None:
    model = plain()
    optimizer = sgd(model)
    speculation = begun(model, optimizer)
    train(speculation, model, range(2))
    optimizer.register_step_post_hook(lambda *_: None)
    with pytest.raises(RuntimeError, match=r"SGD must have no hooks on its steps, .* but has 1"):
        train(speculation, model, range(1))


def unfreeze(model: nn.Module, _: torch.optim.Optimizer) -> None:
    model[1].weight.requires_grad_()  # type: ignore[index, union-attr, operator]


def replace(model: nn.Module, _: torch.optim.Optimizer) -> None:
    model[0].weight = nn.Parameter(torch.ones(16, 12))  # type: ignore[index]


def add(model: nn.Module, optimizer: torch.optim.Optimizer) -> None:
    layer = nn.Linear(4, 3)
    model.append(layer)  # type: ignore[operator]
    optimizer.add_param_group({"params": [*layer.parameters()]})


@pytest.mark.parametrize("depth", [0, 1])
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (unfreeze, "parameter '1.weight' must be trainable when speculation begins"),
        (replace, "parameter '0.weight' must stay the one that it was when speculation began, but"),
        (add, r"optimizers must have the parameters that they had .* of shape \(3, 4\): close"),
    ],
)
def test_other_parameters(
    change: Callable[[nn.Module, torch.optim.Optimizer], None], message: str, depth: int
) -> None:
    model = plain()
    model[1].requires_grad_(False)  # type: ignore[index]
    optimizer = sgd(model)
    speculation = begun(model, optimizer, depth=depth)
    train(speculation, model, range(2))
    change(model, optimizer)
    with pytest.raises(RuntimeError, match=message):
        train(speculation, model, range(1))


def test_parameters_of_no_model() -> None:
    model, other = plain(), nn.Linear(3, 2)
    optimizer = torch.optim.SGD([*model.parameters(), *other.parameters()], lr=0.1)
    with pytest.raises(ValueError, match=r"parameters of SGD must be the model's, .* \(2, 3\) is"):
        begun(model, optimizer)


def clamped(depth: int, *, settles: bool) -> list[torch.Tensor]:
    """Weights after steps that a script clamps them behind."""
    torch.manual_seed(1)
    model = plain()
    speculation = begun(model, sgd(model), tau=0, depth=depth)
    for step in range(4):
        train(speculation, model, range(step, step + 1))
        if settles:
            speculation.settle()
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.clamp_(-0.1, 0.1)
    speculation.close()
    return weights(model)


@pytest.mark.parametrize("depth", [1, 2])
def test_weights_that_are_changed_in_flight(depth: int) -> None:
    assert equal(clamped(depth, settles=True), clamped(0, settles=False))
    message = r"parameter '6.weight' must not be changed while an update of it is in flight: call "
    with pytest.raises(RuntimeError, match=message):
        clamped(depth, settles=False)


def stepped(steps: int) -> tuple[nn.Module, Speculation]:
    model = plain()
    speculation = begun(model, sgd(model))
    train(speculation, model, range(steps))
    return model, speculation


@pytest.mark.parametrize("part", ["undecided", "guesses", "buckets"])
def test_a_state_without_a_part_is_refused_and_changes_nothing(part: str) -> None:
    model, speculation = stepped(1)
    state = speculation.state_dict()
    del state["runtime"][part]
    train(speculation, model, range(1, 2))
    with pytest.raises(ValueError, match=f"there is no '{part}'"):
        speculation.load_state_dict(state)
    assert speculation.steps == 2
    train(speculation, model, range(2, 3))
    speculation.close()


@pytest.mark.parametrize("part", ["guesses", "optimizers"])
def test_nothing_goes_on_with_a_state_that_is_half_loaded(part: str) -> None:
    model, speculation = stepped(2)
    state = speculation.state_dict()
    if part == "guesses":
        state["runtime"]["guesses"] = {0: 3}
    else:
        state["optimizers"][0]["state"] = 3
    with pytest.raises((TypeError, ValueError, AttributeError)):
        speculation.load_state_dict(state)
    with pytest.raises(RuntimeError, match="must not go on after it has failed, begin again from"):
        train(speculation, model, range(2, 3))
    speculation.close()

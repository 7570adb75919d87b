"""Copies of a model that is trained speculatively: plain ones, with weights that are up to date."""

import copy
import io
from collections.abc import Callable
from typing import Any

import pytest
import torch
from speculation_setup import begun, plain, sgd
from torch import nn
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

from adagrain.host.speculation.speculate import Speculation

pytestmark = pytest.mark.usefixtures("lone_worker")


def saved(model: nn.Module) -> Any:
    """The model from a file of it, as a whole."""
    file = io.BytesIO()
    torch.save(model, file)
    file.seek(0)
    return torch.load(file, weights_only=False)


def doubled(module: nn.Module, inputs: tuple[torch.Tensor]) -> torch.Tensor:
    """A hook of somebody else."""
    return 2 * inputs[0]


def step(speculation: Speculation, model: nn.Module, number: int) -> None:
    x = torch.randn(8, 12, generator=torch.Generator().manual_seed(number))
    speculation.step(lambda: model(x).square().mean())


def trained(depth: int, look: Callable[[Speculation, Any], None]) -> list[torch.Tensor]:
    """Weights behind four steps, and somebody who looks at the model behind each of them."""
    torch.manual_seed(3)
    model = plain()
    model[0].register_forward_pre_hook(doubled)  # type: ignore[index]
    speculation = begun(model, sgd(model), tau=0, depth=depth)
    for number in range(4):
        step(speculation, model, number)
        look(speculation, model)
    speculation.close()
    return [*model.parameters(), *model.buffers()]


@pytest.mark.parametrize("copied", [copy.deepcopy, saved])
def test_a_copy_is_a_plain_model(copied: Callable[[Any], Any]) -> None:
    """Hooks of others stay; what speculation goes on with is not touched."""
    wanted = [{*vars(module)} for module in plain().modules()]

    def look(speculation: Speculation, model: Any) -> None:
        arrivals = speculation._runtime._arrivals  # type: ignore[union-attr]
        assert arrivals.in_flight
        other = copied(model)
        assert not arrivals.in_flight
        rows = zip(model.state_dict().items(), other.state_dict().items(), strict=True)
        assert all(a == b and torch.equal(x, y) for (a, x), (b, y) in rows)
        assert [{*vars(module)} for module in other.modules()] == wanted
        assert [len(module._forward_pre_hooks) for module in other][:2] == [1, 0]
        assert not other._state_dict_pre_hooks
        drawn = torch.get_rng_state()
        other(torch.ones(8, 12)).square().mean().backward()
        torch.set_rng_state(drawn)
        assert all(own.grad is None for own in model.parameters())

    rows = zip(trained(1, look), trained(1, lambda *_: None), strict=True)
    assert all(torch.equal(one, own) for one, own in rows)


def test_a_part_is_copied() -> None:
    def look(_: Speculation, model: Any) -> None:
        other = copy.deepcopy(model[0])
        assert torch.equal(other.weight, model[0].weight) and other.weight is not model[0].weight
        assert [*other._forward_pre_hooks.values()] == [doubled]
        assert "forward" not in vars(other)

    trained(1, look)


class MadeAnew(nn.Linear):
    """A copy of it is made from no state."""

    def __init__(self) -> None:
        super().__init__(12, 2)

    def __reduce__(self) -> tuple[type, tuple[()]]:
        return MadeAnew, ()


def test_modules_that_are_copied_in_their_own_way_are() -> None:
    model = nn.Sequential(MadeAnew())
    speculation = begun(model, sgd(model))
    step(speculation, model, 0)
    other = copy.deepcopy(model)
    assert isinstance(other[0], MadeAnew) and not torch.equal(other[0].weight, model[0].weight)
    speculation.close()


def test_an_average_of_weights_is_kept() -> None:
    """By the tool of PyTorch, which copies the model."""

    def averaged(depth: int) -> list[torch.Tensor]:
        made: list[AveragedModel] = []

        def look(speculation: Speculation, model: nn.Module) -> None:
            if not made:
                made.append(AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(0.5)))
            speculation.settle()
            made[0].update_parameters(model)

        weights = trained(depth, look)
        (average,) = made
        assert not torch.equal(next(average.parameters()), weights[0])
        assert average(torch.ones(8, 12)).shape == (8, 4)
        return [*average.parameters()]

    rows = zip(averaged(0), averaged(1), strict=True)
    assert all(torch.equal(off, on) for off, on in rows)

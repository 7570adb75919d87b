"""What is left of a speculation that was closed, or that is to be closed within a step."""

import gc
import weakref
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from speculation_setup import begun, plain, sgd

pytestmark = pytest.mark.usefixtures("lone_worker")


@pytest.fixture
def no_collector() -> Iterator[None]:
    """References alone keep objects alive, and those that go round in circles do."""
    sgd(plain())  # the first optimizer of a process keeps frames, by what PyTorch imports for it
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def closed(options: dict[str, Any]) -> dict[str, weakref.ref[Any]]:
    """What a speculation had that took three steps and was closed."""
    model = plain()
    optimizer, x = sgd(model), torch.ones(8, 12)
    speculation = begun(model, optimizer, **options)
    for _ in range(3):
        speculation.step(lambda: model(x).square().mean())
    had = {
        "model": model,
        "weight": model[0].weight,  # type: ignore[index]
        "optimizer": optimizer,
        "batch": x,
        "device": speculation.device,
        "runtime": speculation._runtime,
    }
    speculation.close()
    return {name: weakref.ref(own) for name, own in had.items()}


@pytest.mark.usefixtures("no_collector")
@pytest.mark.parametrize(
    "options", [{}, {"depth": 0}, {"depth": 2}, {"compression": {"bypass": "never"}}], ids=str
)
def test_a_closed_speculation_keeps_nothing_alive(options: dict[str, Any]) -> None:
    assert [name for name, own in closed(options).items() if own() is not None] == []


@pytest.mark.parametrize("name", ["step", "close"])
def test_a_closure_neither_steps_nor_closes(name: str) -> None:
    """It is refused there; where the closure goes on all the same, so does the step."""
    model = plain()
    speculation = begun(model, sgd(model))
    call = {"step": lambda: speculation.step(loss), "close": speculation.close}[name]

    def loss() -> torch.Tensor:
        return model(torch.ones(8, 12)).square().mean()

    def closure() -> torch.Tensor:
        with pytest.raises(RuntimeError, match=rf"{name}\(\) must not be called within a closure"):
            call()
        return loss()

    for number in range(1, 4):
        speculation.step(closure)
        assert speculation.steps == number
    speculation.close()


def test_a_step_within_a_closure_ends_the_run_by_name() -> None:
    model = plain()
    speculation = begun(model, sgd(model))
    message = r"step\(\) must not be called within a closure, but after its step"
    with pytest.raises(RuntimeError, match=message):
        speculation.step(lambda: speculation.step(lambda: model(torch.ones(8, 12)).sum()))
    with pytest.raises(RuntimeError, match="must not go on after it has failed, begin again from"):
        speculation.step(lambda: model(torch.ones(8, 12)).sum())
    speculation.close()

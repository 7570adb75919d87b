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

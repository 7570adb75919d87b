"""The network whose passes take a given time."""

import copy
import time
from functools import partial
from types import SimpleNamespace

import pytest
import torch
from _padded import Padded, convolutions
from torch import nn

from adagrain.host.train.data import load

TARGET = 97.0


def test_passes_take_their_time_and_nothing_else_changes() -> None:
    torch.manual_seed(0)
    plain = convolutions()
    padded = Padded(copy.deepcopy(plain), 40, 80)
    x = torch.randn(4, 1, 8, 8)
    began = time.perf_counter()
    outputs = padded(x)
    between = time.perf_counter()
    outputs.sum().backward()
    ended = time.perf_counter()
    assert between - began >= 0.04
    assert ended - between >= 0.08
    expected = plain(x)
    expected.sum().backward()
    assert torch.equal(outputs, expected)
    for own, other in zip(padded.parameters(), plain.parameters(), strict=True):
        assert torch.equal(own.grad, other.grad)


def test_each_call_of_a_stage_takes_its_share(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also alone, so that calls that are left out take nothing."""
    slept: list[float] = []
    clock = SimpleNamespace(perf_counter=lambda: sum(slept), sleep=slept.append)
    monkeypatch.setattr("_padded.time", clock)
    network = Padded(convolutions(), 80, 0)
    network.stages[0](torch.randn(4, 1, 8, 8))
    assert slept == [0.02]


def test_gradients_of_a_stage_are_there_after_its_share() -> None:
    network = Padded(convolutions(), 0, 80)
    ready: dict[str, float] = {}

    def note(name: str, _: torch.Tensor) -> None:
        ready[name] = time.perf_counter()

    for name, own in network.named_parameters():
        own.register_post_accumulate_grad_hook(partial(note, name))
    outputs = network(torch.randn(4, 1, 8, 8))
    began = time.perf_counter()
    outputs.sum().backward()
    for place, stage in enumerate((3, 2, 1, 0), 1):
        times = [own for name, own in ready.items() if name.startswith(f"stages.{stage}.")]
        assert min(times) - began >= 0.02 * place


@pytest.mark.full
@pytest.mark.parametrize("seed", range(10))
def test_the_network_reaches_its_target_with_every_seed(seed: int) -> None:
    data = load("digits")
    torch.manual_seed(seed)
    network = Padded(convolutions(), 0, 0)
    optimizer = torch.optim.SGD(network.parameters(), lr=0.05, momentum=0.9)
    schedule = torch.optim.lr_scheduler.MultiStepLR(optimizer, [220])
    generator = torch.Generator().manual_seed(seed)
    for _ in range(300):
        chosen = torch.randint(len(data.inputs), (64,), generator=generator)
        optimizer.zero_grad()
        nn.functional.cross_entropy(network(data.inputs[chosen]), data.labels[chosen]).backward()
        optimizer.step()
        schedule.step()
    with torch.no_grad():
        right = network(data.test_inputs).argmax(1) == data.test_labels
    assert 100 * right.double().mean().item() >= TARGET

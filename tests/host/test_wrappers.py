"""Wrapped models: evaluated by one worker alone, copied, saved, left behind, and wrapped anew."""

import copy
import gc
import io
import time
import weakref
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import torch
from process_groups import WorkerServer
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.optim.swa_utils import AveragedModel

import adagrain
from adagrain.host.compression.hook import CompressionState, compress_hook

#: One worker evaluates from some step on; with gradients, so that DDP makes its buckets anew then.
EVALUATION = """
import sys
import torch, torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
import adagrain

dist.init_process_group("gloo")
torch.manual_seed(0)
model = DistributedDataParallel(nn.Linear(6, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
state = adagrain.register(model, optimizer)
for step in range(5):
    optimizer.zero_grad()
    model(torch.randn(4, 6)).square().mean().backward()
    optimizer.step()
    if dist.get_rank() == 0 and step >= int(sys.argv[2]):
        model.train(sys.argv[1] == "train")
        model(torch.ones(1, 6))
        model.train()
state.close()
"""

#: Seconds that such a run may take.
SOON = 15


@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize("mode", ["eval", "train"])
def test_one_worker_may_evaluate_alone(server: WorkerServer, mode: str, first: int) -> None:
    began = time.monotonic()
    ended = server.run(Path("script"), mode, str(first), source=EVALUATION)
    assert [own.returncode for own in ended] == [0, 0], ended[0].stderr
    assert time.monotonic() - began < SOON


def with_register() -> tuple[DistributedDataParallel, Any]:
    model = DistributedDataParallel(nn.Linear(6, 2))
    return model, adagrain.register(model, torch.optim.SGD(model.parameters(), lr=0.1))


def with_compression() -> tuple[DistributedDataParallel, Any]:
    model = DistributedDataParallel(nn.Linear(6, 2))
    state = CompressionState(model, density=0.5)
    model.register_comm_hook(state, compress_hook)
    return model, state


WAYS = {"register": with_register, "compress_hook": with_compression}


def saved(model: DistributedDataParallel) -> DistributedDataParallel:
    file = io.BytesIO()
    torch.save(model, file)
    file.seek(0)
    found = torch.load(file, weights_only=False)
    assert isinstance(found, DistributedDataParallel)
    return found


@pytest.mark.usefixtures("lone_worker")
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("copied", [copy.deepcopy, saved, AveragedModel])
def test_a_copy_is_a_wrapped_model_without_the_hook(
    way: str, copied: Callable[[DistributedDataParallel], nn.Module]
) -> None:
    model, state = WAYS[way]()
    model(torch.ones(3, 6)).sum().backward()
    other = copied(model)
    state.close()
    before = state.bytes_sent
    other(torch.full((3, 6), 2.0)).sum().backward()
    gradient = next(other.parameters()).grad
    assert gradient is not None and torch.equal(gradient, torch.full((2, 6), 6.0))
    assert state.bytes_sent == before


def stage(module: nn.Module, rate: float) -> weakref.ref[torch.optim.Optimizer]:
    """A step by a wrapper and an optimizer that are left behind, and the state is not closed."""
    model = DistributedDataParallel(module)
    optimizer = torch.optim.SGD(module.parameters(), lr=rate)
    adagrain.register(model, optimizer)
    model(torch.ones(3, 6)).sum().backward()
    optimizer.step()
    return weakref.ref(optimizer)


@pytest.mark.usefixtures("lone_worker")
def test_a_model_goes_on_when_its_wrapper_was_left_behind() -> None:
    module = nn.Linear(6, 2)
    left = [stage(module, rate) for rate in (0.1, 0.01)]
    gc.collect()
    assert [own() for own in left] == [None, None]


@pytest.mark.usefixtures("lone_worker")
def test_a_second_wrapper_of_a_model_is_refused_until_the_first_is_closed() -> None:
    module = nn.Linear(6, 2)
    first, second = DistributedDataParallel(module), DistributedDataParallel(module)
    state = adagrain.register(first, torch.optim.SGD(module.parameters(), lr=0.1))
    optimizer = torch.optim.SGD(module.parameters(), lr=0.1)
    with pytest.raises(ValueError, match="parameter 'weight' must be of one registered model, but"):
        adagrain.register(second, optimizer)
    state.close()
    state = adagrain.register(second, optimizer)
    second(torch.ones(3, 6)).sum().backward()
    optimizer.step()
    state.close()


@pytest.mark.usefixtures("lone_worker")
@pytest.mark.parametrize(
    ("state", "message"),
    [
        ({}, "state must be what state_dict.. has given, with .*, but there is no '"),
        (None, r"state must be a mapping, as state_dict\(\) gives it, not None"),
    ],
)
def test_what_is_no_state_is_refused(state: Mapping[str, Any] | None, message: str) -> None:
    for way in WAYS.values():
        _, own = way()
        with pytest.raises((TypeError, ValueError), match=message):
            own.load_state_dict(state)
        own.close()
    model = nn.Linear(6, 2)
    speculation = adagrain.speculate(model, torch.optim.SGD(model.parameters(), lr=0.1))
    for wrong in (state, {"runtime": state, "optimizers": [{}]}):
        with pytest.raises((TypeError, ValueError), match=message):
            speculation.load_state_dict(wrong)  # type: ignore[arg-type]
    speculation.close()

"""Groups beside a script's own: they have its time-out, and are given back."""

import gc
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.testing._internal.distributed.fake_pg import FakeStore

import adagrain
from adagrain.host.compression.hook import CompressionState, compress_hook
from adagrain.host.distributed.lockstep import Lockstep
from adagrain.host.distributed.lost import WorkerLostError, waited_for
from adagrain.host.distributed.process_group import time_out_of


def test_a_group_beside_a_scripts_own_has_its_time_out(tmp_path: Path) -> None:
    place = f"file://{tmp_path}/rendezvous"
    dist.init_process_group("gloo", place, rank=0, world_size=1, timeout=timedelta(seconds=7))
    try:
        world = dist.group.WORLD
        assert world and time_out_of(world) == timedelta(seconds=7)
        assert time_out_of(Lockstep(world).group) == timedelta(seconds=7)
    finally:
        dist.destroy_process_group()


def test_a_backend_that_tells_no_time_out() -> None:
    dist.init_process_group("fake", store=FakeStore(), rank=0, world_size=2)
    try:
        world = dist.group.WORLD
        assert world and time_out_of(world) == timedelta(minutes=30)
    finally:
        dist.destroy_process_group()


def test_memory_that_is_short_is_no_lost_worker() -> None:
    with pytest.raises(torch.OutOfMemoryError, match=r"^too much$"), waited_for("the exchange"):
        raise torch.OutOfMemoryError("too much")
    with pytest.raises(WorkerLostError, match=r"lost in the exchange; .+ \(reset by peer\)"):
        with waited_for("the exchange"):
            raise RuntimeError("reset by peer")


def test_a_backend_without_options() -> None:
    """As that of MPI, or one of somebody else's, may be."""

    class Group:
        _device_types = (torch.device("cpu"),)

        def _get_backend(self, place: torch.device) -> object:
            return object()

    assert time_out_of(Group()) == timedelta(minutes=30)


def _registered(model: DistributedDataParallel, optimizer: torch.optim.Optimizer) -> Any:
    return adagrain.register(model, optimizer, preset="tiny")


def _compressed(model: DistributedDataParallel, _: torch.optim.Optimizer) -> Any:
    state = CompressionState(model, density=0.5)
    model.register_comm_hook(state, compress_hook)
    return state


@pytest.mark.parametrize("hook", [_registered, _compressed])
@pytest.mark.usefixtures("lone_worker")
def test_what_a_hook_takes_is_given_back(hook: Callable[..., Any]) -> None:
    """Files and threads; otherwise a sweep in one process ends at the limit of open files."""
    taken = []
    for _ in range(4):
        _trained(hook)
        taken.append(_files_and_threads())
    assert taken[1] == taken[-1]


def _learning(model: DistributedDataParallel) -> Any:
    return CompressionState(model, mask="learned")


def _learning_by_regions(model: DistributedDataParallel) -> Any:
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    return adagrain.AdagrainState(model, optimizer, preset="tiny", compression={"mask": "learned"})


@pytest.mark.parametrize("make", [_learning, _learning_by_regions])
@pytest.mark.usefixtures("lone_worker")
def test_a_learned_mask_lets_go_of_modules(
    make: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """When the state is closed, and where it could not be made."""

    def differ(*_: object) -> None:
        raise ValueError("density must be the same on all workers")

    model = DistributedDataParallel(nn.Linear(4, 4))
    state = make(model)
    assert model.module._forward_hooks
    saved = state.exchange.mask.state_dict()["survey"]
    state.close()
    assert not model.module._forward_hooks
    assert state.exchange.mask.state_dict()["survey"] == saved
    monkeypatch.setattr(Lockstep, "begin", differ)
    with pytest.raises(ValueError, match="must be the same"):
        make(model)
    assert not model.module._forward_hooks


@pytest.mark.usefixtures("lone_worker")
def test_a_closed_hook_does_not_train() -> None:
    model = DistributedDataParallel(nn.Linear(4, 4))
    _compressed(model, torch.optim.SGD(model.parameters())).close()
    with pytest.raises(RuntimeError, match="must not be trained on after close"):
        model(torch.ones(2, 4)).sum().backward()


def _trained(hook: Callable[..., Any]) -> None:
    """A model gets its hook, is trained, and the hook is closed."""
    model = DistributedDataParallel(nn.Linear(4, 4))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    state = hook(model, optimizer)
    for _ in range(3):
        model(torch.ones(2, 4)).sum().backward()
        optimizer.step()
    state.close()


def _files_and_threads() -> tuple[int, ...]:
    gc.collect()
    return tuple(len([*Path("/proc/self").joinpath(kind).iterdir()]) for kind in ("fd", "task"))

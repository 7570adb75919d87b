"""States that the compressed exchange cannot go on with."""

import shutil
import tempfile
from contextlib import suppress
from typing import Any

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as checkpoint
from compression_misuse_cases import Failing
from compression_setup import Setup, case, network
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from adagrain.host.compression.hook import compress_hook
from adagrain.host.compression.threshold import HardThreshold
from adagrain.host.distributed.lockstep import WorkerFailedError
from adagrain.host.errors import DeviceError


@case
def state_without_a_part() -> Any:
    setup = Setup()
    setup.train(range(2))
    state = setup.state.state_dict()
    del state["exchange"]["plan"]
    setup.state.load_state_dict(state)


@case
def other_state() -> Any:
    setup = Setup()
    state = setup.state.state_dict()
    state["parameters"] = {"weight": 3}
    setup.state.load_state_dict(state)


@case
def state_in_another_memory_format() -> Any:
    def images() -> nn.Module:
        return nn.Sequential(nn.Conv2d(2, 4, 3))

    def images_with_channels_last() -> nn.Module:
        return images().to(memory_format=torch.channels_last)

    state = Setup(make=images_with_channels_last).state.state_dict()
    Setup(make=images).state.load_state_dict(state)


@case
def state_of_another_mask() -> Any:
    Setup().state.load_state_dict(Setup(mask="top").state.state_dict())


@case
def states_of_other_choices() -> Any:
    """Refused before anything changes: the passes are those that were made."""
    told = []
    for own, other in (
        ({"mask": "top"}, {"mask": "top_by_share"}),
        ({"momentum": 0.9}, {}),
        ({"error_feedback": False}, {}),
        ({"mask": "learned", "learned": {"hidden": 5}}, {"mask": "learned"}),
    ):
        left, kept = Setup(**other), Setup(**own)
        kept.train(range(2))
        try:
            kept.state.load_state_dict(left.state.state_dict())
        except ValueError as error:
            told.append(f"{error} after {kept.state.exchange.passes} passes")
    raise ValueError("; ".join(told))


class Refusing(HardThreshold):
    """Goes on from no state."""

    def load_state_dict(self, state: Any) -> None:
        raise ValueError("the mask refuses the state")


@case
def state_that_the_mask_refuses() -> Any:
    """Then nothing has changed."""
    left, kept = Setup(mask=Refusing()), Setup(mask=Refusing())
    left.train(range(4))
    kept.train(range(2))
    before = kept.residuals()
    try:
        kept.state.load_state_dict(left.state.state_dict())
    finally:
        assert kept.state.exchange.passes == 2 and torch.equal(kept.residuals(), before)


def _states(**options: Any) -> tuple[Any, Any]:
    """A state, and one of later passes."""
    setup = Setup(**options)
    setup.train(range(4))
    early = setup.state.state_dict()
    setup.train(range(4, 10))
    return early, setup.state.state_dict()


@case
def states_of_other_passes() -> Any:
    early, late = _states()
    setup = Setup()
    setup.state.load_state_dict(late if dist.get_rank() else early)
    setup.train(range(1))


@case
def state_on_one() -> Any:
    _, late = _states()
    setup = Setup()
    if dist.get_rank():
        setup.state.load_state_dict(late)
    setup.train(range(1))


@case
def states_of_other_slots() -> Any:
    """Of as many passes, in which frames were of other lengths."""
    (_, dense), (_, sparse) = (_states(density=density) for density in (0.5, 0.01))
    setup = Setup()
    setup.state.load_state_dict(dense if dist.get_rank() else sparse)
    setup.train(range(1))


@case
def state_behind_a_failed_pass() -> Any:
    """What it had sent is in no average; that it has failed is not forgotten."""
    setup = Setup(coder=Failing("decode"))
    with suppress(DeviceError, WorkerFailedError):
        setup.train(range(5))
    assert setup.state.exchange.passes == 3
    for exchange in (setup.state.state_dict, setup.state.exchange.end_pass):
        try:
            exchange()
        except (RuntimeError, DeviceError) as error:
            told = error
    assert isinstance(told, DeviceError if dist.get_rank() else WorkerFailedError)
    setup.state.state_dict()


@case
def state_through_torch_checkpoint() -> Any:
    """It fills in what the new state has: no residuals."""
    setup, resumed = Setup(), Setup()
    setup.train(range(3))
    folder = [tempfile.mkdtemp() if dist.get_rank() == 0 else ""]
    dist.broadcast_object_list(folder)
    name = f"compression_{dist.get_rank()}"
    checkpoint.save({name: setup.state}, checkpoint_id=folder[0])
    try:
        checkpoint.load({name: resumed.state}, checkpoint_id=folder[0])
    finally:
        assert resumed.state.exchange.passes == 0
        dist.barrier()
        if dist.get_rank() == 0:
            shutil.rmtree(folder[0])


@case
def no_state() -> Any:
    model = DistributedDataParallel(network())
    model.register_comm_hook(None, compress_hook)
    model(torch.ones(3, 12)).sum().backward()

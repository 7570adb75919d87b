"""Wrong uses of the compressed exchange."""

from typing import Any

import torch
import torch.distributed as dist
from compression_setup import (
    Setup,
    case,
    network,
)
from torch import nn
from torch.nn.parallel import DistributedDataParallel

import adagrain
from adagrain.host.compression.hook import CompressionState, compress_hook
from adagrain.host.compression.threshold import HardThreshold


@case
def options_that_differ() -> Any:
    Setup(density=0.1 if dist.get_rank() else 0.2)


@case
def wrong_option_on_one() -> Any:
    Setup(density=0.1 if dist.get_rank() else 2.0)


def registered(compression: Any) -> adagrain.AdagrainState:
    model = DistributedDataParallel(network())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    return adagrain.register(model, optimizer, preset="tiny", compression=compression)


@case
def compression_that_differs() -> Any:
    registered({"density": 0.1 if dist.get_rank() else 0.2})


@case
def compression_on_one() -> Any:
    registered(None if dist.get_rank() else {})


@case
def no_compression() -> Any:
    registered(0.01)


@case
def wrong_option_of_compression() -> Any:
    registered({"densty": 0.1})


@case
def state_of_a_dense_exchange() -> Any:
    dense, compressed = registered(None), registered({})
    compressed.load_state_dict(dense.state_dict())


@case
def state_of_another_mask_behind_the_reducer() -> Any:
    random, top = registered({"mask": "random"}), registered({"mask": "top"})
    top.load_state_dict(random.state_dict())


@case
def wrong_option_of_the_mask_on_one() -> Any:
    Setup(mask="learned", learned={"hidden": 5 if dist.get_rank() else 0})


@case
def options_of_the_mask_that_differ() -> Any:
    Setup(mask="learned", learned={"hidden": 5 if dist.get_rank() else 6})


class Broken(HardThreshold):
    """A mask that fails on one worker, in the third pass."""

    calls = 0

    def keep(self, v: torch.Tensor, layout: Any, density: float) -> torch.Tensor:
        self.calls += 1
        if dist.get_rank() and self.calls == 3:
            return v
        return super().keep(v, layout, density)


@case
def wrong_mask_on_one() -> Any:
    Setup(ddp={"bucket_cap_mb": 25}, mask=Broken()).train(range(5))


@case
def other_state() -> Any:
    setup = Setup()
    state = setup.state.state_dict()
    state["parameters"] = {"weight": 3}
    setup.state.load_state_dict(state)


@case
def state_of_another_mask() -> Any:
    Setup().state.load_state_dict(Setup(mask="top").state.state_dict())


@case
def frozen_when_the_state_was_made() -> Any:
    made = network()
    model = DistributedDataParallel(made)
    made[0].requires_grad_(False)
    state = CompressionState(model)
    made[0].requires_grad_(True)
    model.register_comm_hook(state, compress_hook)
    model(torch.ones(3, 12)).sum().backward()


@case
def join() -> Any:
    setup = Setup()
    with setup.model.join():
        setup.train(range(1))


@case
def double_precision() -> Any:
    Setup(make=lambda: nn.Linear(12, 4).double())

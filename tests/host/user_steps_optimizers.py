"""Optimizers of scripts: what they are given, and what they have kept."""

import gc
import weakref
from contextlib import suppress
from typing import Any

import torch
from torch import nn
from torch.distributed.optim import ZeroRedundancyOptimizer
from torch.nn.parallel import DistributedDataParallel
from user_steps_setup import case, refused

import adagrain


@case
def an_optimizer_inside_another() -> None:
    model = DistributedDataParallel(nn.Linear(6, 4))
    shards = ZeroRedundancyOptimizer(model.parameters(), torch.optim.SGD, lr=0.1)
    message = refused(lambda: adagrain.register(model, shards))
    assert "does not work with ZeroRedundancyOptimizer: another" in message


@case
def an_optimizer_of_a_wrapper_that_is_gone() -> None:
    network = nn.Linear(6, 4)
    optimizer = torch.optim.SGD(network.parameters(), lr=0.1)
    for _ in range(2):
        model = DistributedDataParallel(network)
        state = adagrain.register(model, optimizer)
        model(torch.ones(2, 6)).sum().backward()
        optimizer.step()
        held = weakref.ref(state.reducer)
        del model, state
        gc.collect()
        assert held() is None


class Scaled(torch.optim.SGD):
    """Takes more than a closure."""

    def step(self, closure: Any = None, scale: float = 1.0) -> Any:
        self.param_groups[0]["lr"] = 0.1 * scale
        return super().step(closure)


@case
def what_is_given_behind_a_closure_arrives() -> None:
    for closes in (False, True):
        model = DistributedDataParallel(nn.Linear(6, 4))
        optimizer = Scaled(model.parameters(), lr=0.1)
        adagrain.register(model, optimizer)
        before = model.module.bias.detach().clone()

        def closure(model: nn.Module = model) -> torch.Tensor:
            loss = model(torch.ones(2, 6)).sum()
            loss.backward()
            return loss

        if closes:
            optimizer.step(closure, 3.0)
        else:
            closure()
            optimizer.step(None, 3.0)
        assert (before - model.module.bias).allclose(torch.tensor(2 * 0.3)), closes


class Once(torch.optim.SGD):
    """Fails with its first closure, before it is run."""

    def step(self, closure: Any = None) -> Any:
        if closure is not None:
            raise MemoryError("no memory")
        return super().step()


@case
def a_step_behind_one_that_failed() -> None:
    model = DistributedDataParallel(nn.Linear(6, 4))
    optimizer = Once(model.parameters(), lr=0.1)
    state = adagrain.register(model, optimizer)
    with suppress(MemoryError):
        optimizer.step(lambda: torch.zeros(()))
    assert "one of Once has failed" in refused(state.state_dict)
    model(torch.ones(2, 6)).sum().backward()
    optimizer.step()
    state.state_dict()


@case
def a_state_that_was_only_looked_at() -> None:
    """PyTorch makes an empty one then."""
    model = DistributedDataParallel(nn.Linear(6, 4))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    adagrain.register(model, optimizer, by="rows:2")
    assert all(not optimizer.state[parameter] for parameter in model.parameters())
    model(torch.ones(2, 6)).sum().backward()
    optimizer.step()


@case
def a_state_before_the_first_step() -> None:
    """That of a whole parameter is refused where blocks of rows have their own."""
    model = DistributedDataParallel(nn.Linear(6, 4))
    optimizer = torch.optim.Adagrad(model.parameters())
    message = refused(lambda: adagrain.register(model, optimizer, by="rows:2"))
    assert message.endswith(
        "it was saved with other regions, or is there before the first step, as Adagrad's"
    )

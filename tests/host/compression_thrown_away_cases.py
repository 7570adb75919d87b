"""Gradients that are exchanged, and thrown away or kept behind that."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
import torch.distributed as dist
from compression_setup import Setup, case
from torch import nn


@contextmanager
def told() -> Iterator[list[str]]:
    """What is logged meanwhile."""
    found = list[str]()

    class Keeps(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            found.append(record.getMessage())

    handler = Keeps()
    logging.getLogger("adagrain").addHandler(handler)
    try:
        yield found
    finally:
        logging.getLogger("adagrain").removeHandler(handler)


def expect(found: list[str], times: int) -> None:
    """The first worker tells that so many passes were thrown away; the others nothing."""
    wanted = sum(times >= 10**power for power in range(4)) if dist.get_rank() == 0 else 0
    assert len(found) == wanted, found
    assert all("gradients were exchanged and cleared, but no weight" in text for text in found)


@case
def passes_that_are_thrown_away() -> Any:
    """As those of a discriminator through which a generator learns; told when the next begins."""
    for options in ({}, {"momentum": 0.9}, {"mask": "learned"}):
        setup = Setup(density=0.1, **options)
        with told() as found:
            for step in range(12):
                setup.train(range(step, step + 1))
                setup.backward(100 + step)
        expect(found, 11)
    setup = Setup(density=0.1)
    other = torch.optim.SGD(nn.Linear(3, 3).parameters(), lr=0.1)
    with told() as found:
        for step in range(3):
            setup.optimizer.zero_grad(set_to_none=False)
            setup.model(setup.batch(step)).square().mean().backward()
            other.step()
    expect(found, 2)


@case
def the_same_without_synchronisation() -> Any:
    setup, twin = Setup(density=0.1), Setup(density=0.1)
    with told() as found:
        for step in range(5):
            setup.train(range(step, step + 1))
            with setup.model.no_sync():
                setup.backward(100 + step)
            twin.train(range(step, step + 1))
    expect(found, 0)
    assert setup.sha256() == twin.sha256()
    return setup.sha256()


@case
def passes_that_are_not_thrown_away() -> Any:
    """Several exchanges of one step, one that is void, cleared gradients of zero, none kept.

    Fused optimizers change weights without PyTorch's counting it.
    """
    with told() as found:
        for to_none in (False, True):
            setup = Setup(density=0.1)
            for step in range(6):
                setup.optimizer.zero_grad(set_to_none=to_none)
                for part in range(3):
                    setup.model(setup.batch(10 * step + part)).square().mean().backward()
                setup.optimizer.step()
                setup.optimizer.zero_grad(set_to_none=to_none)
                setup.backward(99, float("inf"))
        for fused in (torch.optim.SGD, torch.optim.AdamW):
            setup = Setup(density=0.1)
            setup.optimizer = fused(setup.model.parameters(), lr=1e-3, fused=True)
            setup.train(range(3))
        forgets = Setup(density=0.1, error_feedback=False)
        for step in range(4):
            forgets.backward(step)
        kept = Setup(density=0.1)
        kept.train(range(3))
        resumed = Setup(density=0.1)
        resumed.go_on_from(kept)
        resumed.train(range(3, 5))
    expect(found, 0)


@case
def closed_when_there_is_another_process_group() -> Any:
    """A state is closed whole, so that nothing goes on in a group that is gone."""
    setup, rank, workers = Setup(), dist.get_rank(), dist.get_world_size()
    setup.train(range(2))
    store = dist.distributed_c10d._get_default_store()
    dist.destroy_process_group()
    again = dist.PrefixStore("again", store)
    dist.init_process_group("gloo", store=again, rank=rank, world_size=workers)
    setup.state.close()
    try:
        setup.backward(2)
    except RuntimeError as error:
        assert "must not be trained on after close()" in str(error)
    else:
        raise AssertionError("the model must not be trained on")
    other = Setup()
    other.train(range(2))
    return torch.is_tensor(other.residuals())

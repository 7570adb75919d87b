"""The compressed exchange behind the reducer."""

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import torch
import torch.distributed as dist
from compression_setup import (
    SMALL_BUCKETS,
    Setup,
    average_of,
    case,
    network,
    replaced,
)
from torch import nn
from torch.nn.parallel import DistributedDataParallel

import adagrain
from adagrain.host.compression.exchange import CompressedExchange
from adagrain.host.compression.options import CompressionOptions
from adagrain.host.distributed import ddp
from adagrain.host.distributed.lockstep import Lockstep


class Reduced(Setup):
    """A network whose regions are exchanged compressed, behind the reducer."""

    def __init__(
        self,
        cadences: dict[str, int],
        by: str = "module",
        bucket: float = SMALL_BUCKETS,
        **options: Any,
    ) -> None:
        self.model = DistributedDataParallel(network(), bucket_cap_mb=bucket)
        self.network = self.model.module
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.05)
        chosen = CompressionOptions(**{"bypass": "never"} | options)

        def exchange(group: Any) -> CompressedExchange:
            self.exchange = CompressedExchange(group, Lockstep(group), chosen, 1064)
            return self.exchange

        with replaced(ddp, "DenseExchange", exchange):
            self.state = adagrain.register(
                *(self.model, self.optimizer),
                preset="tiny",
                by=by,
                cadence=None,
                cadences=cadences,
                epoch_steps=4,
            )

    def residuals(self) -> torch.Tensor:
        """In the order of the regions' elements, which is that of the parameters."""
        saved = self.exchange.state_dict()["feedback"]["residuals"]
        return torch.cat([saved[key] for key in sorted(saved)])


@case
def behind_the_reducer() -> Any:
    """Averages times cadence, and what is left of them, are all that the gradients were."""
    found = []
    for cadences, by in (({}, "module"), ({"0": 2, "2": 4}, "module"), ({}, "rows:3")):
        setup = Reduced(cadences, by, density=0.1)
        cadence = torch.ones(1064)
        if cadences:
            cadence[:520], cadence[520:1012] = 2.0, 4.0
        total, wanted = torch.zeros(2, 1064)
        for step in range(8):
            wanted += setup.own_gradients(step)
            setup.backward(step)
            total += cadence * setup.gradients()
            setup.optimizer.step()
            found.append(setup.sha256())
        total += cadence * average_of(setup.residuals())
        torch.testing.assert_close(total, average_of(wanted), rtol=1e-4, atol=1e-6)
        counts = setup.exchange.counts
        assert counts.void == counts.refused == 0 and setup.residuals().any()
    return found


@case
def dropped_behind_the_reducer() -> Any:
    """A region is not updated where one worker has no numbers; what the other has is kept."""
    setup = Reduced({}, density=0.1)
    total, wanted = torch.zeros(2, 1064)
    for step in range(6):
        own = setup.own_gradients(step)
        setup.optimizer.zero_grad()
        poisoned = step == 2 and dist.get_rank() == 1
        with replaced_gradient(setup.network[2].bias) if poisoned else nullcontext():
            setup.model(setup.batch(step)).square().mean().backward()
        if poisoned:
            own[520 + 480 : 520 + 492] = 0
        wanted += own
        total += setup.gradients()
        setup.optimizer.step()
    assert setup.state.reducer.dropped == 1 and setup.exchange.counts.void == 1
    total += average_of(setup.residuals())
    torch.testing.assert_close(total, average_of(wanted), rtol=1e-4, atol=1e-6)


@contextmanager
def replaced_gradient(parameter: nn.Parameter) -> Iterator[None]:
    handle = parameter.register_hook(lambda gradient: torch.full_like(gradient, torch.nan))
    yield
    handle.remove()


@case
def resumed_behind_the_reducer() -> Any:
    return [resumed_with("threshold_before", SMALL_BUCKETS), resumed_with("learned", 25)]


def resumed_with(mask: str, bucket: float) -> str:
    options = {"bucket": bucket, "density": 0.1, "mask": mask}
    one, other, third = (Reduced({"0": 2}, **options) for _ in range(3))
    one.train(range(12))
    other.train(range(5))
    third.network.load_state_dict(other.network.state_dict())
    third.state.load_state_dict(other.state.state_dict())
    third.train(range(5, 12))
    assert third.sha256() == one.sha256()
    assert third.state.reducer.bytes_sent > other.state.reducer.bytes_sent
    return third.sha256()

"""The compressed exchange behind the reducer."""

from collections.abc import Callable, Iterator
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
)
from torch import nn
from torch.nn.parallel import DistributedDataParallel

import adagrain


class Reduced(Setup):
    """A network whose regions are exchanged, most often compressed, behind the reducer."""

    def __init__(
        self,
        cadences: dict[str, int],
        by: str = "module",
        *,
        compresses: bool = True,
        ddp: Any = None,
        make: Callable[[], nn.Module] = network,
        **options: Any,
    ) -> None:
        ddp = {"bucket_cap_mb": SMALL_BUCKETS} | (ddp or {})
        self.model = DistributedDataParallel(make(), **ddp)
        self.network = self.model.module
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.05)
        self.state = adagrain.register(
            *(self.model, self.optimizer),
            preset="tiny",
            by=by,
            compression={"bypass": "never"} | options if compresses else None,
            cadence=None,
            cadences=cadences,
            epoch_steps=4,
        )
        self.exchange = self.state.exchange

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
def several_passes_behind_the_reducer() -> Any:
    """A step of two passes loses nothing, and counts nothing twice, whatever a region's cadence."""
    setup = Reduced({"0": 2}, density=0.1)
    cadence = torch.ones(1064)
    cadence[:520] = 2.0
    total, wanted = torch.zeros(2, 1064)
    for step in range(6):
        wanted += setup.own_gradients(step) + setup.own_gradients(100 + step)
        setup.backward(step)
        setup.model(setup.batch(100 + step)).square().mean().backward()
        total += cadence * setup.gradients()
        setup.optimizer.step()
    total += cadence * average_of(setup.residuals())
    torch.testing.assert_close(total, average_of(wanted), rtol=1e-4, atol=1e-6)


@case
def resumed_behind_the_reducer() -> Any:
    """Bit for bit, though the second pass of a run has other buckets than the first."""
    found = []
    for mask in ("threshold", "random", "learned"):
        one, other, third = (Reduced({"0": 2}, density=0.1, mask=mask) for _ in range(3))
        one.train(range(12))
        other.train(range(5))
        third.go_on_from(other)
        third.train(range(5, 12))
        assert third.sha256() == one.sha256()
        assert third.state.reducer.bytes_sent == one.state.reducer.bytes_sent
        assert third.state.last_step.sent == one.state.last_step.sent
        found.append(third.sha256())
    return found


@case
def sent_by_region() -> Any:
    """What a step tells that it has sent is what the residuals have lost."""
    setup = Reduced({"0": 2}, density=0.1)
    for step in range(4):
        before, own = setup.residuals() if step else torch.zeros(1064), setup.own_gradients(step)
        sent_before = setup.state.reducer.bytes_sent
        setup.backward(step)
        setup.optimizer.step()
        log = setup.state.last_step
        assert log.bytes_sent == setup.state.reducer.bytes_sent > sent_before
        if step % 2:
            assert list(log.sent) == ["0", "2", "3"]
            continue
        assert list(log.sent) == ["2", "3"], "region 0 is not due"
        arrived = (own + before)[520:] - setup.residuals()[-544:]
        for name, part in zip(log.sent, arrived.split([492, 52]), strict=True):
            sent = log.sent[name]
            assert (sent.elements, sent.nonzeros) == (len(part), int(part.count_nonzero()))
        assert (
            0 < sum(sent.bits for sent in log.sent.values()) <= 8 * (log.bytes_sent - sent_before)
        )

"""A worker that takes steps as scripts do, beside plain DDP or beside what was refused."""

import gc
import sys
import time
import weakref
from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
import user_steps_optimizers  # noqa: F401
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from user_steps_setup import CASES, case, refused

import adagrain
from adagrain.host.compression.options import MASKS
from adagrain.host.distributed.process_group import leave_group
from adagrain.host.distributed.watch import Watch


class Halves(nn.Module):
    """Two that are used, one that is not."""

    def __init__(self) -> None:
        super().__init__()
        self.used, self.unused, self.early = nn.Linear(6, 4), nn.Linear(3, 3), nn.Linear(6, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.used(x) + self.early(x)


@case
def what_nobody_uses_rests() -> None:
    """Neither weight decay nor momentum moves it, as with DDP; what was left is applied."""
    model = DistributedDataParallel(Halves(), find_unused_parameters=True)
    net = model.module
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=0.1)
    cadences = dict.fromkeys(("used", "unused", "early"), 2)
    adagrain.register(model, optimizer, cadence=None, cadences=cadences)
    unused, frozen = net.unused.weight.detach().clone(), torch.empty(0)
    for step in range(8):
        if step == 4:  # behind a whole period
            net.early.requires_grad_(False)
            frozen = net.early.weight.detach().clone()
        optimizer.zero_grad()
        own = net.used(torch.ones(2, 6)).sum() * 0 if step % 2 else 0  # late, and of zeros
        (model(torch.randn(8, 6)).square().mean() + own).backward()
        optimizer.step()
    assert torch.equal(net.unused.weight, unused) and torch.equal(net.early.weight, frozen)


@case
def frozen_in_the_middle_of_a_period() -> None:
    model = DistributedDataParallel(Halves(), find_unused_parameters=True)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    adagrain.register(model, optimizer, cadence=None, cadences={"used": 4, "early": 4})
    frozen = model.module.early.weight.detach().clone()
    for step in range(4):
        model.module.early.requires_grad_(step < 2)
        optimizer.zero_grad()
        model(torch.ones(8, 6)).square().mean().backward()
        optimizer.step()
    assert torch.equal(model.module.early.weight, frozen)


class Adapted(nn.Module):
    """The gradient of ``a`` is 0 at first, since ``b`` is."""

    def __init__(self) -> None:
        super().__init__()
        self.w, self.a, self.b = nn.Linear(6, 4), nn.Linear(6, 2), nn.Linear(2, 4)
        nn.init.zeros_(self.b.weight)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.w(x) + self.b(self.a(x))


def steps(between: Callable[[Any], object], **options: Any) -> list[torch.Tensor]:
    """Weights after steps of two exchanged passes; without options those of plain DDP."""
    torch.manual_seed(0)
    model = DistributedDataParallel(Adapted(), gradient_as_bucket_view=True)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    if options:
        adagrain.register(model, optimizer, cadence=None, **options)
    for step in range(3):
        optimizer.zero_grad()
        for number in range(2):
            x = torch.randn(8, 6, generator=torch.Generator().manual_seed(2 * step + number))
            model(x + dist.get_rank()).square().mean().backward()
            if not number:
                between(model)
        optimizer.step()
    return [parameter.detach().clone() for parameter in model.parameters()]


@case
def several_passes_into_views_of_buckets() -> None:
    """Other gradients of a bucket are no change; a change is one."""
    wanted = steps(lambda _: None)
    assert all(map(torch.equal, steps(lambda _: None, cadences={}), wanted))
    steps(lambda _: None, cadences={"w": 2})
    for between, cadences in (
        (lambda model: model.zero_grad(set_to_none=False), {}),
        (lambda model: nn.utils.clip_grad_norm_(model.parameters(), 1e-6), {"w": 2}),
    ):
        message = refused(partial(steps, between, cadences=cadences))
        assert "before its gradients are changed or thrown away" in message


class Laid(nn.Module):
    """Matrices and filters in other orders of memory than that of their elements, or in that one.

    They are used in the latter, so that gradients do not depend on it.
    """

    def __init__(self, lies: str) -> None:
        super().__init__()
        self.filters, self.matrix = nn.Conv2d(3, 8, 3), nn.Linear(32, 6, bias=False)
        matrix = self.matrix.weight.detach()
        if lies == "otherwise":
            self.filters.to(memory_format=torch.channels_last)
            self.matrix.weight = nn.Parameter(matrix.t().contiguous().t())
        if lies == "with gaps":
            self.matrix.weight = nn.Parameter(matrix.repeat_interleave(2, 1)[:, ::2])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        found = nn.functional.conv2d(x, self.filters.weight.contiguous(), self.filters.bias)
        return nn.functional.linear(found.flatten(1), self.matrix.weight.contiguous())


def laid(lies: str, begin: Callable[[Any, Any], object], **ddp: Any) -> list[torch.Tensor]:
    """Weights after some steps."""
    torch.manual_seed(0)
    model = DistributedDataParallel(Laid(lies), **ddp)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    begin(model, optimizer)
    for step in range(4):
        optimizer.zero_grad()
        x = torch.randn(4, 3, 4, 4, generator=torch.Generator().manual_seed(step))
        model(x + dist.get_rank()).square().mean().backward()
        optimizer.step()
    return [parameter.detach().clone() for parameter in model.parameters()]


def compressed(model: DistributedDataParallel, _: torch.optim.Optimizer) -> None:
    state = adagrain.CompressionState(model, density=0.2, bypass="never")
    model.register_comm_hook(state, adagrain.compress_hook)


@case
def parameters_may_lie_otherwise_in_memory() -> None:
    """As DDP has their gradients in its buckets, too; elements and rows stay what they are."""
    density = {"density": 0.2, "bypass": "never"}
    rows = {"by": "rows:3", "cadences": {"filters.weight[0:2]": 2, "matrix.weight[2:4]": 4}}
    slow = {"cadences": {"filters": 2, "matrix": 2}}
    registered = partial(adagrain.register, preset="tiny", cadence=None, epoch_steps=4)
    for begin in (
        compressed,
        partial(registered, **slow),
        partial(registered, **rows),
        partial(registered, cadences={"filters": 2}, compression=density),
        partial(registered, **rows, compression=density),
    ):
        wanted = laid("in order", begin, find_unused_parameters=True)
        found = laid("otherwise", begin, find_unused_parameters=True)
        assert all(map(torch.equal, found, wanted)), begin


@case
def parameters_may_lie_otherwise_in_a_static_graph() -> None:
    registered = partial(adagrain.register, preset="tiny", cadence=None)
    for begin in (registered, partial(registered, cadences={"filters": 2, "matrix": 2})):
        wanted = laid("in order", begin, static_graph=True)
        for lies in ("otherwise", "with gaps"):
            assert all(map(torch.equal, laid(lies, begin, static_graph=True), wanted)), lies
    plain = laid("otherwise", lambda *_: None, static_graph=True)
    assert all(map(torch.equal, laid("otherwise", registered, static_graph=True), plain))


@case
def one_exchange_a_step() -> None:
    """What an exchange has brought back would come into velocities again."""
    for wrong, why in (
        ({"momentum": 0.5}, "momentum is corrected"),
        ({"error_feedback": False}, "there is no error feedback"),
    ):
        for kind in ("hook", "register"):
            for passes in (nullcontext, DistributedDataParallel.no_sync):
                train = partial(accumulated, kind, passes, wrong)
                if passes is nullcontext:
                    assert f"inside model.no_sync() where {why}:" in refused(train), kind
                else:
                    train()


def accumulated(kind: str, passes: Callable[..., Any], own: dict[str, Any]) -> None:
    """Steps of two passes, the first of which is in a context."""
    model = DistributedDataParallel(nn.Sequential(nn.Linear(40, 30), nn.Linear(30, 1)))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    options = {"density": 0.01, "bypass": "never", **own}
    if kind == "hook":
        model.register_comm_hook(
            adagrain.CompressionState(model, **options), adagrain.compress_hook
        )
    else:
        adagrain.register(model, optimizer, cadence=None, compression=options)
    for _ in range(3):
        optimizer.zero_grad()
        with passes(model):
            model(torch.randn(8, 40)).square().mean().backward()
        model(torch.randn(8, 40)).square().mean().backward()
        optimizer.step()


@case
def thrown_away_before_a_step_with_one_exchange() -> None:
    """Gradients of an earlier exchange, and what was added to them, are gone before the next."""
    model = DistributedDataParallel(Halves(), find_unused_parameters=True, bucket_cap_mb=1e-4)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    state = adagrain.CompressionState(model, density=0.1, momentum=0.5, bypass="never")
    model.register_comm_hook(state, adagrain.compress_hook)
    for set_to_none in (True, False, True):
        model(torch.ones(2, 6)).sum().backward()
        optimizer.step()
        with model.no_sync():
            model(torch.ones(2, 6)).sum().backward()
        optimizer.zero_grad(set_to_none)


@case
def compression_leaves_out_what_has_no_elements() -> None:
    for mask in MASKS:
        for cap in (1e-4, 25):
            model = nn.Linear(4, 4)
            model.register_parameter("empty", nn.Parameter(torch.empty(0, 3)))
            model = DistributedDataParallel(model, find_unused_parameters=True, bucket_cap_mb=cap)
            state = adagrain.CompressionState(model, mask=mask, density=0.2, bypass="never")
            model.register_comm_hook(state, adagrain.compress_hook)
            for _ in range(4):
                model(torch.ones(2, 4)).square().mean().backward()
            state.load_state_dict(state.state_dict())
            state.close()


@case
def a_loss_that_is_not_finite_on_one() -> None:
    """There is no mean of it; the next step has one again."""
    model = DistributedDataParallel(nn.Linear(4, 4))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    state = adagrain.register(model, optimizer, preset="tiny")
    for on_one, mean in ((torch.nan, None), (3.0, 2 << 16), (-torch.inf, None)):
        state.loss(torch.tensor(on_one if dist.get_rank() else 1.0))
        model(torch.ones(2, 4)).sum().backward()
        optimizer.step()
        assert state.last_step.agreed.loss == mean


@case
def gradients_that_are_added_to_none() -> None:
    """Those of ``autograd.grad`` are no backward pass."""
    for kind in ("hook", "register"):
        model = DistributedDataParallel(nn.Linear(4, 4))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        if kind == "hook":
            state = adagrain.CompressionState(model, momentum=0.5, bypass="never")
            model.register_comm_hook(state, adagrain.compress_hook)
        else:
            state = adagrain.register(model, optimizer, preset="tiny")
        for _ in range(3):
            loss = model(torch.ones(2, 4)).square().mean()
            torch.autograd.grad(loss, list(model.parameters()), retain_graph=True)
            optimizer.zero_grad()
            loss.backward()
            torch.autograd.grad(model.module(torch.ones(2, 4)).sum(), list(model.parameters()))
            optimizer.step()


@case
def what_is_watched_is_not_held() -> None:
    parameter = nn.Parameter(torch.ones(2))
    watch, held = Watch([parameter], bool), weakref.ref(parameter)
    parameter.sum().backward()
    assert watch.local
    del parameter, watch
    gc.collect()
    assert held() is None


@case
def a_closed_speculation_holds_nothing() -> None:
    model = nn.Linear(4, 4)
    for options in ({}, {"compression": {"density": 0.1, "bypass": "never"}}):
        speculated(model, options)  # threads that stay are there from now on
        before = held()
        for _ in range(3):
            speculated(model, options)
        deadline = time.monotonic() + 30
        while held() > before:
            assert time.monotonic() < deadline, (held(), before)
            time.sleep(0.1)


def speculated(model: nn.Module, options: dict[str, Any]) -> None:
    own = adagrain.speculate(model, torch.optim.SGD(model.parameters(), lr=0.1), **options)
    for _ in range(3):
        own.step(lambda: model(torch.ones(2, 4)).square().mean())
    own.close()


def held() -> int:
    """Files and threads of this process."""
    gc.collect()
    return sum(len([*Path(f"/proc/self/{what}").iterdir()]) for what in ("fd", "task"))


@case
def speculation_needs_elements() -> None:
    model = nn.Linear(4, 4)
    model.register_parameter("empty", nn.Parameter(torch.empty(0, 3)))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    message = refused(lambda: adagrain.speculate(model, optimizer))
    assert message.startswith("parameter 'empty' must have elements for speculation, or be frozen")
    assert message.endswith("but is of shape (0, 3)")
    model.empty.requires_grad_(False)
    adagrain.speculate(model, optimizer).close()


def main() -> None:
    dist.init_process_group("gloo")
    CASES[sys.argv[1]]()
    leave_group()


if __name__ == "__main__":
    main()

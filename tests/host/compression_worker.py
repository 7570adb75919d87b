"""A worker of the tests of the compressed exchange: runs cases by name, prints JSON of each.

The judge is plain: it has the worker's own gradients from a second model without DDP, takes what
was sent to be what the residuals have lost, and averages that in rank order.
"""

import copy
import hashlib
import io
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import numpy as np
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

import adagrain
from adagrain.host.compression import frames, probe
from adagrain.host.compression.exchange import CompressedExchange
from adagrain.host.compression.hook import CompressionState, compress_hook
from adagrain.host.compression.options import MASKS, CompressionOptions
from adagrain.host.compression.threshold import HardThreshold
from adagrain.host.distributed import ddp
from adagrain.host.distributed.lockstep import Lockstep
from adagrain.host.distributed.process_group import leave_group

CASES: dict[str, Callable[[], Any]] = {}

#: Parameters of these networks come in several buckets, which DDP rebuilds after the first pass.
SMALL_BUCKETS = 1e-3


def case(function: Callable[[], Any]) -> Callable[[], Any]:
    CASES[function.__name__] = function
    return function


def network() -> nn.Module:
    torch.manual_seed(7)
    return nn.Sequential(nn.Linear(12, 40), nn.Tanh(), nn.Linear(40, 12), nn.Linear(12, 4))


class Setup:
    """A network with the hook, and what training it takes."""

    def __init__(
        self, ddp: Any = None, make: Callable[[], nn.Module] = network, **options: Any
    ) -> None:
        ddp = {"bucket_cap_mb": SMALL_BUCKETS} | (ddp or {})
        self.model = DistributedDataParallel(make(), **ddp)
        self.network = self.model.module
        self.state = CompressionState(self.model, **({"bypass": "never"} | options))
        self.model.register_comm_hook(self.state, compress_hook)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.05, momentum=0.9)

    def batch(self, step: int) -> torch.Tensor:
        generator = torch.Generator().manual_seed(1000 * step + dist.get_rank())
        return torch.randn(16, 12, generator=generator)

    def backward(self, step: int, scale: float = 1.0) -> None:
        self.optimizer.zero_grad()
        (scale * self.model(self.batch(step)).square().mean()).backward()

    def train(self, steps: range) -> None:
        for step in steps:
            self.backward(step)
            self.optimizer.step()

    def gradients(self) -> torch.Tensor:
        return torch.cat([p.grad.reshape(-1) for p in self.network.parameters()])

    def own_gradients(self, step: int, scale: float = 1.0) -> torch.Tensor:
        """Those of this worker alone."""
        twin = copy.deepcopy(self.network)
        twin.zero_grad()
        (scale * twin(self.batch(step)).square().mean()).backward()
        return torch.cat([p.grad.reshape(-1) for p in twin.parameters()])

    def residuals(self) -> torch.Tensor:
        saved = self.state.state_dict()["exchange"]["feedback"]["residuals"]
        parts = [
            saved.get((number, 0), torch.zeros(own.numel()))
            for number, own in enumerate(self.network.parameters())
        ]
        return torch.cat(parts)

    def judged(self, step: int, scale: float = 1.0) -> torch.Tensor:
        """A backward pass: what arrived of this worker, once all is found to be as it must be."""
        before, own = self.residuals(), self.own_gradients(step, scale)
        self.backward(step, scale)
        v, after = own + before, self.residuals()
        arrived = v - after
        assert torch.equal(arrived + after, v), "what arrived and what is left are all there was"
        assert torch.equal(arrived.bfloat16().float(), arrived)
        assert same_bits(self.gradients(), average_of(arrived))
        return arrived

    def sha256(self) -> str:
        raw = b"".join(p.detach().numpy().tobytes() for p in self.network.parameters())
        return hashlib.sha256(raw).hexdigest()


def gathered(own: torch.Tensor) -> list[torch.Tensor]:
    found = [torch.empty_like(own) for _ in range(dist.get_world_size())]
    dist.all_gather(found, own)
    return found


def average_of(own: torch.Tensor) -> torch.Tensor:
    """In rank order, in FP32."""
    first, *others = (x.numpy() for x in gathered(own))
    for other in others:
        first = first + other
    return torch.from_numpy(first * np.float32(1 / dist.get_world_size()))


def to_bf16(x: torch.Tensor) -> torch.Tensor:
    """Rounded to the nearest, ties to even, by integers; zeros are +0."""
    bits = x.numpy().view(np.uint32).astype(np.uint64)
    words = (bits + 0x7FFF + (bits >> 16 & 1) >> 16 << 16).astype(np.uint32)
    words[words == 0x80000000] = 0
    return torch.from_numpy(words.view(np.float32))


def same_bits(a: torch.Tensor, b: torch.Tensor) -> bool:
    return torch.equal(a.view(torch.int32), b.view(torch.int32))


@contextmanager
def replaced(module: Any, name: str, other: Any) -> Iterator[None]:
    old = getattr(module, name)
    setattr(module, name, other)
    yield
    setattr(module, name, old)


@case
def everything_is_sent() -> Any:
    setup = Setup(density=1.0)
    residual = torch.zeros_like(setup.residuals())
    for step in range(3):
        v = setup.own_gradients(step) + residual
        setup.backward(step)
        sent = to_bf16(v)
        residual = v - sent
        assert same_bits(setup.gradients(), average_of(sent))
        assert torch.equal(setup.residuals(), residual)
        setup.optimizer.step()
    return setup.sha256()


@case
def masks() -> Any:
    found = {}
    for mask in MASKS:
        for bits in (7, 2, 0):
            setup = Setup(density=0.1, mask=mask, mantissa_bits=bits)
            sent = 0
            for step in range(6):
                sent += int((setup.judged(step) != 0).sum())
                setup.optimizer.step()
            assert mask == "threshold_before" or setup.state.counts.overflows == 0
            assert 0.07 < sent / 6 / setup.residuals().numel() < (0.2 if "before" in mask else 0.13)
            found[f"{mask} {bits}"] = setup.sha256()
    return found


@case
def three_workers() -> Any:
    """More than two, whose sums depend on the order."""
    setup = Setup(density=0.5)
    for step in range(4):
        setup.judged(step)
        setup.optimizer.step()
    return setup.sha256()


@case
def thirty_steps() -> Any:
    setup = Setup(density=0.05, momentum=0.9, mantissa_bits=3, warmup_passes=10)
    setup.optimizer = torch.optim.SGD(setup.model.parameters(), lr=0.05)
    setup.train(range(30))
    return setup.sha256(), setup.state.bytes_sent


def whole_numbers() -> nn.Module:
    """Gradients are whole numbers, so that sums do not depend on their order."""
    made = nn.Sequential(nn.Linear(12, 40), nn.Linear(40, 4))
    generator = torch.Generator().manual_seed(3)
    for parameter in made.parameters():
        values = torch.randint(-3, 4, parameter.shape, generator=generator)
        parameter.data = values.float()
    return made


@case
def other_kinds_of_ddp() -> Any:
    found = set()
    for ddp_options in (
        *({}, {"gradient_as_bucket_view": True}, {"static_graph": True}, {"bucket_cap_mb": 25}),
    ):
        setup = Setup(ddp=ddp_options, density=0.1)
        setup.train(range(5))
        found.add(setup.sha256())
    assert len(found) == 1
    return [*found]


@case
def half_precision() -> Any:
    """What BF16 gradients have is in the average, or waits in FP32."""
    setup = Setup(make=lambda: nn.Linear(12, 4).bfloat16(), density=0.2)
    total, wanted = torch.zeros(2, 52)
    for step in range(6):
        x = setup.batch(step).bfloat16()
        twin = copy.deepcopy(setup.network)
        for model in (setup.model, twin):
            model.zero_grad()
            model(x).float().square().mean().backward()
        wanted += torch.cat([p.grad.reshape(-1) for p in twin.parameters()])
        total += setup.gradients()
    assert setup.gradients().dtype == torch.bfloat16
    total += average_of(setup.residuals())
    torch.testing.assert_close(total, average_of(wanted), rtol=0.02, atol=0.02)


@case
def accumulation() -> Any:
    found = []
    for together in (True, False):
        setup = Setup(make=whole_numbers, density=0.2)
        setup.optimizer = torch.optim.SGD(setup.model.parameters(), lr=2.0**-8)
        for step in range(6):
            setup.optimizer.zero_grad()
            generator = torch.Generator().manual_seed(10 * step + dist.get_rank())
            x = torch.randint(-4, 5, (3, 5, 12), generator=generator).float()
            micro = [x.flatten(0, 1)] if together else x
            for number, part in enumerate(micro):
                last = number + 1 == len(micro)
                with nullcontext() if last else setup.model.no_sync():
                    setup.model(part).sum().backward()
            found.append(hashlib.sha256(setup.gradients().numpy().tobytes()).hexdigest())
            with torch.no_grad():
                for parameter in setup.network.parameters():
                    parameter -= parameter.grad.sign()  # weights stay whole numbers
    half = len(found) // 2
    assert found[:half] == found[half:]
    return found


@case
def every_pass_is_exchanged() -> Any:
    """Several passes for a step without ``no_sync``: nothing of their sum is lost."""
    setup = Setup(density=0.1)
    total = torch.zeros_like(setup.residuals())
    setup.optimizer.zero_grad()
    for step in range(4):
        setup.model(setup.batch(step)).square().mean().backward()
        total += setup.own_gradients(step)
    left = sum(gathered(setup.residuals())) / dist.get_world_size()
    wanted = sum(gathered(total)) / dist.get_world_size()
    torch.testing.assert_close(setup.gradients() + left, wanted, rtol=1e-4, atol=1e-6)


@case
def resumed() -> Any:
    options = {"density": 0.1, "momentum": 0.5, "warmup_passes": 12, "plan_passes": 4}
    found = []
    for mask in ("threshold", "threshold_before", "random"):
        one = Setup(mask=mask, **options)
        one.train(range(20))
        other = Setup(mask=mask, **options)
        other.train(range(9))
        buffer = io.BytesIO()
        parts = (other.network, other.optimizer, other.state)
        torch.save([part.state_dict() for part in parts], buffer)
        buffer.seek(0)
        third = Setup(mask=mask, **options)
        parts = (third.network, third.optimizer, third.state)
        for part, state in zip(parts, torch.load(buffer), strict=True):
            part.load_state_dict(state)
        third.train(range(9, 20))
        assert third.sha256() == one.sha256()
        found.append(third.sha256())
    return found


@case
def overflow() -> Any:
    setup = Setup(ddp={"bucket_cap_mb": 25}, density=0.9)
    setup.judged(0)
    setup.judged(1)
    plan = setup.state.exchange._plan
    layout = [*plan._sizes][-1]
    found = []
    for step, size in enumerate((600, 120), 2):
        plan._sizes[layout] = size
        whole = int((setup.judged(step) != 0).sum())
        assert plan._sizes[layout] > size
        found.append(whole)
    counts = setup.state.counts
    assert counts.overflows == 2 and counts.left_out > 0
    assert 600 > found[0] > found[1] > 0
    setup.judged(4)
    assert setup.state.counts.overflows == 2


@case
def overflow_of_what_is_not_finite() -> Any:
    setup = Setup(ddp={"bucket_cap_mb": 25}, density=0.1)
    setup.judged(0)
    setup.judged(1)
    before = setup.residuals()
    setup.backward(2, float("nan") if dist.get_rank() else 1.0)
    assert setup.state.counts.overflows == dist.get_rank()
    assert setup.gradients().isnan().any()
    if dist.get_rank():
        assert same_bits(setup.residuals(), before)


def damaging(sender: int, times: list[int]) -> Callable[..., Any]:
    """Decodes, but finds the frames of a worker damaged when they come so often."""
    decoded, seen = frames._decoded, []

    def damaged(slot: bytes, layout: Any) -> Any:
        rank = len(seen) % 2
        seen.append(rank)
        if rank == sender and seen.count(rank) in times:
            slot = bytes([*slot[:20], slot[20] ^ 4, *slot[21:]])
        return decoded(slot, layout)

    return damaged


@case
def damaged_frames() -> Any:
    for sender, receiver in ((0, 1), (1, 1), (1, 0)):
        setup = Setup(ddp={"bucket_cap_mb": 25}, density=0.2)
        other = damaging(sender, [2])
        with replaced(frames, "_decoded", other) if dist.get_rank() == receiver else nullcontext():
            for step in range(4):
                arrived = setup.judged(step)
                assert bool(arrived.any()) != (step == 1 and dist.get_rank() == sender)
                setup.optimizer.step()
        assert setup.state.counts.refused == (dist.get_rank() == sender)


@case
def not_finite() -> Any:
    for value in (float("nan"), float("inf")):
        setup = Setup(density=0.1)
        setup.judged(0)
        before, scale = setup.residuals(), value if dist.get_rank() else 1.0
        v = setup.own_gradients(1, scale) + before
        setup.backward(1, scale)
        assert not setup.gradients().isfinite().all()
        same = [x.view(torch.int32) for x in gathered(setup.gradients())]
        assert torch.equal(*same)
        assert same_bits(setup.residuals(), before if dist.get_rank() else v)
        assert setup.state.counts.void == 1
        setup.judged(2)


class Halves(nn.Module):
    """One of two layers is used, by the step."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(7)
        self.parts = nn.ModuleList([nn.Linear(12, 12), nn.Linear(12, 12)])
        self.which = [0]

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return sum(self.parts[number](x) for number in self.which)


@case
def unused_parameters() -> Any:
    setup = Setup(ddp={"find_unused_parameters": True}, make=Halves, density=0.1)
    total = torch.zeros_like(setup.residuals())
    wanted = torch.zeros_like(total)
    for step in range(8):
        setup.network.which = [step % 2, dist.get_rank()] if step % 3 == 0 else [step % 2]
        wanted += _with_zeros(setup, step)
        setup.backward(step)
        total += torch.cat(
            [
                torch.zeros(p.numel()) if p.grad is None else p.grad.reshape(-1)
                for p in setup.network.parameters()
            ]
        )
    left = sum(gathered(setup.residuals())) / 2
    torch.testing.assert_close(total + left, sum(gathered(wanted)) / 2, rtol=1e-4, atol=1e-6)
    return hashlib.sha256(total.numpy().tobytes()).hexdigest()


def _with_zeros(setup: Setup, step: int) -> torch.Tensor:
    twin = copy.deepcopy(setup.network)
    twin.zero_grad(set_to_none=False)
    for parameter in twin.parameters():
        parameter.grad = torch.zeros_like(parameter)
    twin(setup.batch(step)).square().mean().backward()
    return torch.cat([p.grad.reshape(-1) for p in twin.parameters()])


@case
def bypass() -> Any:
    """One worker alone finds the one way slow, and then the other: all decide alike."""
    seconds = iter([0.0, 9.0, 9.0, 0.0, 9.0, 0.0])
    other = probe._seconds
    if dist.get_rank():
        other = lambda call: (call(), next(seconds))[1]  # noqa: E731
    found = []
    with replaced(probe, "_seconds", other):
        setup = Setup(density=0.1, bypass="auto")
        sent = []
        for step in range(40):
            before = setup.state.bytes_sent
            setup.backward(step)
            sent.append(setup.state.bytes_sent - before)
            setup.optimizer.step()
    record = setup.state.exchange.bypass.record
    found.append([record, setup.sha256(), [made.times for made in setup.state.decisions]])
    assert record == {8: False, 16: True, 32: True}
    assert 2 * setup.residuals().numel() in sent[16:31]
    again = Setup(density=0.1, bypass=record)
    again.train(range(40))
    assert again.sha256() == setup.sha256()
    return found


@case
def bypass_always() -> Any:
    setup = Setup(bypass="always")
    for step in range(3):
        v = setup.own_gradients(step) + setup.residuals()
        setup.backward(step)
        first, second = gathered(to_bf16(v))
        assert same_bits(setup.gradients(), to_bf16(first + second) * 0.5)
        assert torch.equal(setup.residuals(), v - to_bf16(v))
        setup.optimizer.step()
    assert setup.state.bytes_sent == 3 * 2 * setup.residuals().numel()


@case
def bytes_that_were_sent() -> Any:
    sizes = []

    def all_gather(found: Any, own: torch.Tensor, *args: Any, **named: Any) -> Any:
        sizes.append(own.nbytes)
        return old[0](found, own, *args, **named)

    def all_reduce(own: torch.Tensor, *args: Any, **named: Any) -> Any:
        sizes.append(own.nbytes)
        return old[1](own, *args, **named)

    old = dist.all_gather, dist.all_reduce
    setup = Setup(density=0.1, bypass="auto")
    with replaced(dist, "all_gather", all_gather), replaced(dist, "all_reduce", all_reduce):
        setup.train(range(20))
    assert setup.state.bytes_sent == sum(sizes)


@case
def budget() -> Any:
    setup = Setup(ddp={"bucket_cap_mb": 25}, budget=400)
    setup.train(range(40))
    before = setup.state.bytes_sent
    setup.train(range(40, 60))
    return (setup.state.bytes_sent - before) / 20


class Reduced(Setup):
    """A network whose regions are exchanged compressed, behind the reducer."""

    def __init__(self, cadences: dict[str, int], by: str = "module", **options: Any) -> None:
        self.model = DistributedDataParallel(network(), bucket_cap_mb=SMALL_BUCKETS)
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
    one = Reduced({"0": 2}, density=0.1, mask="threshold_before")
    one.train(range(12))
    other = Reduced({"0": 2}, density=0.1, mask="threshold_before")
    other.train(range(5))
    third = Reduced({"0": 2}, density=0.1, mask="threshold_before")
    third.network.load_state_dict(other.network.state_dict())
    third.state.load_state_dict(other.state.state_dict())
    third.train(range(5, 12))
    assert third.sha256() == one.sha256()
    assert third.state.reducer.bytes_sent > other.state.reducer.bytes_sent
    return third.sha256()


@case
def options_that_differ() -> Any:
    Setup(density=0.1 if dist.get_rank() else 0.2)


@case
def wrong_option_on_one() -> Any:
    Setup(density=0.1 if dist.get_rank() else 2.0)


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


if __name__ == "__main__":
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    for name in sys.argv[1:]:
        print(json.dumps({name: CASES[name]()}), flush=True)
    leave_group()

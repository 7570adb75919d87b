"""The compressed exchange as a hook of DDP."""

import copy
import hashlib
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import torch
import torch.distributed as dist
from compression_setup import (
    Setup,
    average_of,
    case,
    gathered,
    replaced,
    same_bits,
    to_bf16,
)
from torch import nn

from adagrain.host.compression import frames
from adagrain.host.compression.options import MASKS


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
            late = mask in ("threshold_before", "learned")
            assert late or setup.state.counts.overflows == 0
            assert 0.07 < sent / 6 / setup.residuals().numel() < (0.25 if late else 0.13)
            found[f"{mask} {bits}"] = setup.sha256()
    return found


@case
def densities_of_a_warm_up() -> Any:
    """A mask hears at the end of a pass what the next one wants."""
    for mask in ("threshold", "learned"):
        setup = Setup(density=0.05, warmup_passes=4, warmup_density=0.5, mask=mask)
        own, wanted, told = setup.state.exchange.mask, [], []
        keep, end_pass = own.keep, own.end_pass
        own.keep = lambda v, layout, d, f=keep, to=wanted: to.append(d) or f(v, layout, d)
        own.end_pass = lambda d, f=end_pass, to=told: to.append(d) or f(d)
        setup.train(range(6))
        assert wanted[1:] == told[:-1] and len({*wanted}) == 5
        assert told[-1] == 0.05


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
    learned = {"mask": "learned", "learned": {"probe_passes": 4, "survey_passes": 4}}
    density = {"density": 0.1, "momentum": 0.5, "warmup_passes": 12}
    found = []
    for options in (
        *({"mask": mask, **density} for mask in ("threshold", "threshold_before", "random")),
        {**learned, **density},
        {"mask": "threshold", "budget": 400},
        {**learned, "budget": 400},
    ):
        one, other, third = (Setup(plan_passes=4, **options) for _ in range(3))
        one.train(range(20))
        other.train(range(9))
        third.go_on_from(other)
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

    def damaged(coder: Any, slot: bytes, layout: Any) -> Any:
        rank = len(seen) % 2
        seen.append(rank)
        if rank == sender and seen.count(rank) in times:
            slot = bytes([*slot[:20], slot[20] ^ 4, *slot[21:]])
        return decoded(coder, slot, layout)

    return damaged


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
    """What waits of them is not lost, also where a pass goes uncompressed."""
    found = [_with_unused_parameters(1e-6)]
    found.append(_with_unused_parameters(0.02, bypass={3: True}))
    with replaced(frames, "_decoded", damaging(1, [2])):
        found.append(_with_unused_parameters(0.02))
    assert [refused for _, refused in found] == [0, 0, 1]
    return found


def _with_unused_parameters(atol: float, **options: Any) -> tuple[str, int]:
    """What has arrived, and the passes that went uncompressed for a refused frame."""
    setup = Setup(ddp={"find_unused_parameters": True}, make=Halves, density=0.1, **options)
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
    torch.testing.assert_close(total + left, sum(gathered(wanted)) / 2, rtol=1e-4, atol=atol)
    refused = setup.state.counts.dense_after_refusal
    return hashlib.sha256(total.numpy().tobytes()).hexdigest(), refused


def _with_zeros(setup: Setup, step: int) -> torch.Tensor:
    twin = copy.deepcopy(setup.network)
    twin.zero_grad(set_to_none=False)
    for parameter in twin.parameters():
        parameter.grad = torch.zeros_like(parameter)
    twin(setup.batch(step)).square().mean().backward()
    return torch.cat([p.grad.reshape(-1) for p in twin.parameters()])


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
    learned = {"probe_passes": 3}
    setup = Setup(density=0.1, bypass="auto", mask="learned", learned=learned)
    with replaced(dist, "all_gather", all_gather), replaced(dist, "all_reduce", all_reduce):
        setup.train(range(20))
    assert setup.state.bytes_sent == sum(sizes)

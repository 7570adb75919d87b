"""Steps of several backward passes, of which some leave parameters or numbers out."""

import gc
import itertools
from typing import Any

import torch
import torch.distributed as dist
from compression_hook_cases import Halves
from compression_reducer_cases import Reduced
from compression_setup import Setup, average_of, case
from torch import nn

from adagrain.host.compression.passage import Passage
from adagrain.host.compression.under_way import Dense, Framed

#: Elements of each half of the network.
HALF = 156


def _trained_by_halves(setup: Any) -> None:
    """Steps that use one half, then the other: nothing is lost, and nothing counts twice."""
    total, wanted = torch.zeros(2, 2 * HALF)
    for step in range(4):
        setup.optimizer.zero_grad()
        for number in (0, 1):
            setup.network.which = [number]
            batch = setup.batch(10 * step + number)
            half = [*setup.network.parts[number].parameters()]
            own = torch.autograd.grad(setup.network(batch).square().mean(), half)
            wanted[HALF * number :][:HALF] += torch.cat([part.reshape(-1) for part in own])
            setup.model(batch).square().mean().backward()
        total += setup.gradients()
        setup.optimizer.step()
    left = average_of(setup.residuals())
    assert left.any()
    torch.testing.assert_close(total + left, average_of(wanted), rtol=1e-4, atol=1e-6)


@case
def unused_in_a_later_pass() -> Any:
    """What an earlier pass has left of a parameter goes in again, though DDP leaves it alone."""
    for views in (False, True):
        ddp = {"find_unused_parameters": True, "gradient_as_bucket_view": views}
        _trained_by_halves(Setup(ddp=ddp, make=Halves, density=0.1))


@case
def unused_in_a_later_pass_behind_the_reducer() -> Any:
    for by, views, cap in itertools.product(
        ("tensor", "module", "rows:3"), (False, True), (1e-3, 25)
    ):
        ddp = {
            "find_unused_parameters": True,
            "gradient_as_bucket_view": views,
            "bucket_cap_mb": cap,
        }
        _trained_by_halves(Reduced({}, by, ddp=ddp, make=Halves, density=0.1))


@case
def not_finite_in_the_first_of_two_passes() -> Any:
    """A region is dropped with all passes of its step; what had waited before them still does."""
    for by in ("module", "rows:3"):
        setup = Reduced({}, by, density=0.1)
        setup.train(range(2))
        before, weights = setup.residuals(), setup.sha256()
        own = setup.own_gradients(10)
        setup.optimizer.zero_grad()
        is_poisoned = dist.get_rank() == 1
        loss = setup.model(setup.batch(10)).square().mean()
        (loss * torch.nan if is_poisoned else loss).backward()
        setup.model(setup.batch(11)).square().mean().backward()
        setup.optimizer.step()
        assert setup.sha256() == weights
        assert setup.state.dropped == len(setup.state.reducer.regions)
        waits = before if is_poisoned else before + own
        torch.testing.assert_close(setup.residuals(), waits, rtol=1e-5, atol=1e-7)


@case
def nothing_is_held_of_a_pass() -> Any:
    """Without garbage collection: frames and gradients would be many times the model's memory."""
    gc.collect()
    gc.disable()
    for setup in (
        *(Setup(), Setup(bypass="always"), Setup(mask="learned")),
        *(Reduced({}, by, density=0.1) for by in ("module", "rows:3")),
    ):
        for step in range(3):
            setup.train(range(step, step + 1))
            held = [own for own in gc.get_objects() if isinstance(own, Passage | Framed | Dense)]
            assert not held, (setup, step, len(held))
    gc.enable()


class Large(nn.Linear):
    """Gradients of 12000."""

    def __init__(self) -> None:
        super().__init__(12, 4, bias=False)
        torch.manual_seed(7)
        self.half()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return (12000 * super().forward(torch.ones_like(x).half())).float()


@case
def half_precision_overflow() -> Any:
    """What is more than FP16 holds waits, so that no average is infinite."""
    for options in ({"density": 0.5}, {"bypass": "always"}, {"density": 1.0, "mantissa_bits": 2}):
        setup = Setup(make=Large, momentum=0.9, momentum_masking=False, **options)
        largest = 0.0
        for step in range(20):
            setup.optimizer.zero_grad()
            setup.model(setup.batch(step)[:1]).sum().backward()
            largest = max(largest, float(setup.gradients().abs().max()))
        assert 50_000 < largest < torch.inf
        assert setup.state.counts.void == 0 and setup.residuals().max() > 65504


class Wide(nn.Sequential):
    """A bucket that goes in two halves."""

    def __init__(self) -> None:
        torch.manual_seed(7)
        super().__init__(nn.Linear(12, 300), nn.Linear(300, 300), nn.Linear(300, 300))


@case
def no_backward_on_one_uncompressed() -> Any:
    """A bucket goes in two halves, on the worker that fails too, which has no bucket."""
    setup = Reduced({}, ddp={"bucket_cap_mb": 25}, make=Wide, bypass="always")
    setup.train(range(3))
    loss = setup.model(setup.batch(3)).square().mean()
    if dist.get_rank() == 1:
        setup.optimizer.step()
    loss.backward()


@case
def momentum_of_a_parameter_that_waits() -> Any:
    """Unused, it keeps residual and velocity, as SGD leaves its momentum alone."""
    options = (
        *({"nesterov": True}, {"nesterov": True, "momentum_masking": True}),
        *({"momentum_masking": False}, {}),
    )
    for own in options:
        for density, bypass in ((1.0, "never"), (0.02, "never"), (1.0, "always")):
            setup = Setup(
                ddp={"find_unused_parameters": True, "bucket_cap_mb": 25},
                **{"make": Halves, "density": density, "bypass": bypass, "momentum": 0.9, **own},
            )
            setup.network.which = [0, 1]
            setup.train(range(2))
            before = _kept(setup)
            setup.network.which = [0]
            setup.train(range(2, 9))
            after = _kept(setup)
            assert all(map(torch.equal, before[1], after[1]))
            assert not all(map(torch.equal, before[0], after[0]))


def _kept(setup: Setup) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
    """Residuals and velocities, of each half."""
    saved = setup.state.state_dict()["exchange"]["feedback"]
    rows = [(key, own) for memory in saved.values() for key, own in sorted(memory.items())]
    half = len([*setup.network.parameters()]) // 2
    first, second = ([own for (n, _), own in rows if (n >= half) == last] for last in (False, True))
    return first, second

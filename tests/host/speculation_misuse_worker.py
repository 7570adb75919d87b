"""A worker that speculates wrongly, as its argument names; see ``test_speculation_misuse.py``."""

import sys
from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as dist
from compression_misuse_cases import Broken, Failing
from speculation_setup import begun
from torch import nn

from adagrain.host.speculation import memory
from adagrain.host.speculation.speculate import Speculation
from adagrain.host.speculation.verdict import Verdict
from adagrain.models.interface.configuration import configuration

#: A device that compares, and does not code.
NO_CODEC = configuration("full", units=("statistics", "region_manager", "difference"))

CASES: dict[str, Callable[..., None]] = {}


def case(function: Callable[..., None]) -> Callable[..., None]:
    CASES[function.__name__] = function
    return function


def on_one() -> bool:
    return dist.get_rank() == 1


class Branches(nn.Module):
    """Two layers, of which either may be left out."""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 4)
        self.leaves_out = False

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.a(x) if self.leaves_out else self.b(self.a(x))


class Setup:
    """Speculation, and steps of it."""

    def __init__(self, rate: float = 0.1, **options: Any) -> None:
        torch.manual_seed(3)
        self.model = Branches()
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=rate)
        self.speculation: Speculation = begun(self.model, self.optimizer, **options)

    def loss(self) -> torch.Tensor:
        return self.model(torch.ones(3, 4) + dist.get_rank()).square().mean()

    def train(self, steps: int = 3) -> None:
        for _ in range(steps):
            self.speculation.step(self.loss)


def fail_on_one(setup: Setup) -> None:
    """A step whose closure raises an error on one worker."""

    def closure() -> torch.Tensor:
        if on_one():
            raise KeyError("no such thing")
        return setup.loss()

    setup.speculation.step(closure)
    setup.speculation.settle()


@case
def unused_on_one() -> None:
    setup = Setup()
    setup.train()
    setup.model.leaves_out = on_one()
    setup.train()


@case
def unused() -> None:
    setup = Setup()
    setup.model.leaves_out = True
    setup.train()


@case
def closure_fails_on_one(**options: Any) -> None:
    setup = Setup(tau=0, **options)
    setup.train()
    fail_on_one(setup)


@case
def closure_fails_two_deep_on_one() -> None:
    closure_fails_on_one(depth=2)


@case
def backward_fails_on_one() -> None:
    """When the exchange of the last layer's gradients has begun."""
    setup = Setup(tau=0)
    setup.train()

    def fail(_: torch.Tensor) -> None:
        raise KeyError("no such thing")

    def closure() -> torch.Tensor:
        hidden = setup.model.a(torch.ones(3, 4))
        if on_one():
            hidden.register_hook(fail)
        return setup.model.b(hidden).square().mean()

    setup.speculation.step(closure)
    setup.speculation.settle()


@case
def another_step_in_a_closure_on_one() -> None:
    setup = Setup(tau=0)
    setup.train()

    def closure() -> torch.Tensor:
        if on_one():
            setup.optimizer.step()
        return setup.loss()

    setup.speculation.step(closure)
    setup.speculation.settle()


@case
def verdict_fails_on_one() -> None:
    setup = Setup()

    def judge(*_: torch.Tensor) -> Verdict:
        raise KeyError("no such thing")

    if on_one():
        setup.speculation._runtime._arrivals._judge.judge = judge
    setup.train()


@case
def settling_fails_on_one(**options: Any) -> None:
    """Outside of a step, on the worker that looks at its weights alone."""
    setup = Setup(looks=lambda: 0, **options)
    setup.train()

    def update(_: Any) -> None:
        raise KeyError("no such thing")

    if on_one():
        setup.speculation._runtime._arrivals.flights[0].replay.update = update
        setup.model(torch.ones(3, 4))
    setup.train()


@case
def settling_fails_two_deep_on_one() -> None:
    settling_fails_on_one(depth=2)


@case
def one_settles_and_the_other_does_not() -> None:
    """Which is no failure: it is that of the last words."""
    setup = Setup(depth=3, epoch_steps=1, compare_weights=1)
    for step in range(12):
        setup.train(1)
        if step % 3 == 2 and on_one():
            setup.speculation.state_dict()
            setup.model.state_dict()
    setup.speculation.close()
    raise ValueError("all is well")


@case
def memory_is_short_on_one() -> None:
    if on_one():
        memory._available = lambda: 100  # type: ignore[assignment]
    Setup(depth=2)


@case
def statistics_fail_on_one() -> None:
    setup = Setup()
    setup.train()

    def statistics_of(*_: Any) -> None:
        raise KeyError("no such thing")

    if on_one():
        setup.speculation.device.statistics_of = statistics_of  # type: ignore[method-assign]
    setup.train()


@case
def mask_fails_on_one() -> None:
    Setup(compression={"mask": Broken(), "bypass": "never"}).train(6)


@case
def encoding_fails_on_one(**options: Any) -> None:
    Setup(compression={"coder": Failing("encode"), "bypass": "never"}, **options).train(6)


@case
def encoding_fails_three_deep_on_one() -> None:
    encoding_fails_on_one(depth=3)


@case
def decoding_fails_on_one(**options: Any) -> None:
    Setup(compression={"coder": Failing("decode"), "bypass": "never"}, **options).train(6)


@case
def decoding_fails_three_deep_on_one() -> None:
    decoding_fails_on_one(depth=3, cadences={"a": 2})


@case
def decoding_fails_on_one_that_settles() -> None:
    setup = Setup(compression={"coder": Failing("decode"), "bypass": "never"})
    for _ in range(6):
        setup.train(1)
        if on_one():
            setup.speculation.settle()


@case
def closure_fails_on_one_with_frames(**options: Any) -> None:
    setup = Setup(compression={"bypass": "never"}, **options)
    setup.train()
    fail_on_one(setup)


@case
def closure_fails_three_deep_on_one_with_frames() -> None:
    closure_fails_on_one_with_frames(depth=3, cadences={"a": 2})


@case
def gone_with_frames(**options: Any) -> None:
    setup = Setup(compression={"bypass": "never"}, **options)
    setup.train()
    if on_one():
        sys.exit(3)
    setup.train()


@case
def gone_three_deep_with_frames() -> None:
    gone_with_frames(depth=3)


@case
def compression_on_one() -> None:
    Setup(compression={} if on_one() else None)


@case
def density_differs() -> None:
    Setup(compression={"density": 0.2 if on_one() else 0.1})


@case
def coder_is_none_on_one() -> None:
    Setup(compression={"coder": "device" if on_one() else "golden"}, preset=NO_CODEC)


@case
def learned_mask() -> None:
    Setup(compression={"mask": "learned"})


@case
def another_batch_on_one() -> None:
    setup = Setup(tau=0)
    generator = torch.Generator()

    def closure() -> torch.Tensor:
        shift = torch.rand(1, generator=generator) if on_one() else 0
        return setup.model(torch.ones(3, 4) + shift).square().mean()

    for _ in range(3):
        setup.speculation.step(closure)


@case
def another_step_before_the_first_on_one() -> None:
    setup = Setup()
    if on_one():
        setup.optimizer.step()
    setup.train()


def fail_while_buckets_are_chosen(step: int) -> None:
    """Fail on one worker in that step; what is learnt in the third one decides."""
    setup = Setup(bucket_bytes=None)
    setup.train(step)

    def closure() -> torch.Tensor:
        if on_one():
            raise KeyError("no such thing")
        return setup.loss()

    setup.speculation.step(closure)
    setup.train()


@case
def third_step_fails_on_one() -> None:
    fail_while_buckets_are_chosen(2)


@case
def fourth_step_fails_on_one() -> None:
    fail_while_buckets_are_chosen(3)


@case
def settling_fails_on_one_when_buckets_are_chosen() -> None:
    settling_fails_on_one(bucket_bytes=None)


@case
def buckets_differ() -> None:
    """One worker resumes from the state of another run."""
    setup = Setup(bucket_bytes=None)
    state = setup.speculation.state_dict()
    state["runtime"]["buckets"] = [1, 1] if on_one() else None
    setup.speculation.load_state_dict(state)
    setup.train(5)


@case
def weights_differ(**options: Any) -> None:
    setup = Setup(compare_weights=2, **options)
    setup.train(4)
    setup.speculation.settle()
    if on_one():
        setup.model.a.weight.data[0, 0] += 1
    setup.train(4)


@case
def weights_differ_two_deep() -> None:
    weights_differ(depth=2)


@case
def another_step_on_one() -> None:
    setup = Setup()
    setup.train()
    if on_one():
        setup.optimizer.step()
    setup.train()


@case
def gone() -> None:
    setup = Setup()
    setup.train()
    if on_one():
        sys.exit(3)
    setup.train()


@case
def tau_differs() -> None:
    Setup(tau=0.2 if on_one() else 0.1)


@case
def cadences_differ() -> None:
    Setup(cadences={"a": 2 if on_one() else 4})


@case
def rates_differ() -> None:
    Setup(rate=0.2 if on_one() else 0.1)


@case
def not_a_number() -> None:
    Setup(tau=float("nan"))


@case
def no_difference_on_one() -> None:
    Setup(preset="tiny" if on_one() else "full")


if __name__ == "__main__":
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    CASES[sys.argv[1]]()

"""A worker that speculates wrongly, as its argument names; see ``test_speculation_misuse.py``."""

import sys
from typing import Any

import numpy as np
import speculation_misuse_beginnings  # noqa: F401
import speculation_misuse_frames  # noqa: F401
import torch
import torch.distributed as dist
from speculation_misuse_setup import CASES, Setup, case, fail_on_one, on_one

from adagrain.host.speculation.verdict import Verdict


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

    def judge(_: object) -> list[Verdict]:
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
def statistics_fail_on_one() -> None:
    setup = Setup()
    setup.train()

    def energies_of(*_: Any, **_options: Any) -> None:
        raise KeyError("no such thing")

    if on_one():
        setup.speculation.device.energies_of = energies_of  # type: ignore[method-assign]
    setup.train()


def take_another_batch_on_one(*, second: bool = False, draws: bool = False, **options: Any) -> None:
    """In the only closure, or in the second of two; it may draw a number of NumPy's, too."""
    setup = Setup(tau=0, **options)
    generator = torch.Generator()

    def closure() -> torch.Tensor:
        shift = torch.rand(1, generator=generator) if on_one() else 0
        number = np.random.randint(1, 2) if draws else 1
        return setup.model(torch.ones(3, 4) * number + shift).square().mean()

    for _ in range(6):
        setup.speculation.step(*([setup.loss, closure] if second else [closure]))


@case
def another_batch_on_one() -> None:
    take_another_batch_on_one()


@case
def another_batch_on_one_that_keeps_no_outputs() -> None:
    take_another_batch_on_one(keep_outputs=False)


@case
def another_batch_beside_a_number_on_one() -> None:
    take_another_batch_on_one(draws=True)


@case
def another_batch_of_the_second_closure_on_one() -> None:
    take_another_batch_on_one(second=True)


@case
def another_batch_of_the_second_closure_two_deep_on_one() -> None:
    take_another_batch_on_one(second=True, depth=2)


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


if __name__ == "__main__":
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    CASES[sys.argv[1]]()

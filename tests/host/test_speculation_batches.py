"""Closures that are run again: with the same batch and random numbers, or refused."""

import random
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import torch
from speculation_judges import forget_guesses
from speculation_setup import Residual, begun, plain, reject, sgd
from torch import nn

pytestmark = pytest.mark.usefixtures("lone_worker")

REFUSED = r"a closure must do the same when it is run again, but the inputs of {} differ"

#: A batch, whatever number it has.
Batch = Callable[[], torch.Tensor]


def test_random_numbers_of_python_and_numpy_are_drawn_again() -> None:
    model = plain()
    speculation = begun(model, sgd(model), tau=0)
    reject(speculation, 3)
    drawn: list[float] = []

    def closure() -> torch.Tensor:
        drawn.append(random.random())
        return model(torch.ones(8, 12) * drawn[-1]).square().mean()

    for _ in range(2):
        speculation.step(closure)
    first, second, again = drawn
    assert first != second == again
    speculation.close()


def test_a_closure_that_takes_another_batch_is_refused() -> None:
    model = plain()
    speculation = begun(model, sgd(model), tau=0)
    reject(speculation, 3)
    batches = iter(torch.randn(9, 8, 12))
    with pytest.raises(RuntimeError, match=r"the inputs of '\(model\)' \(call 0\) differ"):
        for _ in range(2):
            speculation.step(lambda: model(next(batches)).square().mean())


def test_a_closure_that_draws_from_its_own_generator_is_refused() -> None:
    model, generator = nn.Sequential(nn.Linear(12, 12), nn.Linear(12, 2)), torch.Generator()
    speculation = begun(model, sgd(model), tau=0)
    reject(speculation, 1)

    def closure() -> torch.Tensor:
        noise = torch.randn(8, 12, generator=generator)
        return model[1](model[0](torch.ones(8, 12)) + noise).square().mean()

    with pytest.raises(RuntimeError, match=r"the inputs of '1' \(call 1\) differ"):
        for _ in range(2):
            speculation.step(closure)


class Beside(nn.Linear):
    """Takes something beside what it computes with."""

    def forward(self, x: torch.Tensor, _: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
        return super().forward(x)


def speculate_beside(make: Callable[[], torch.Tensor]) -> None:
    """Make the input of a module, whose guess is rejected, anew in each run."""
    model = nn.Sequential(nn.Linear(12, 12), Beside(12, 2))
    speculation = begun(model, sgd(model), tau=0)
    reject(speculation, 1)
    for _ in range(2):
        speculation.step(lambda: model[1](model[0](torch.ones(8, 12)), make()).square().mean())
    assert speculation.passes_redone == 1
    speculation.close()


@pytest.mark.parametrize(
    "make",
    [
        lambda: torch.eye(3).to_sparse(),
        lambda: torch.nested.nested_tensor([torch.ones(2), torch.ones(3)], layout=torch.jagged),
        lambda: torch.ones(2, device="meta"),
        lambda: torch.tensor([complex("nan"), 1j]).conj(),
    ],
    ids=["sparse", "jagged", "meta", "complex"],
)
def test_inputs_that_are_made_anew_are_no_other_batch(make: Callable[[], torch.Tensor]) -> None:
    speculate_beside(make)


def test_another_batch_of_complex_numbers_is_refused() -> None:
    batches = iter(torch.randn(9, 2, dtype=torch.complex64))
    with pytest.raises(RuntimeError, match=REFUSED.format(r"'1' \(call 1\)")):
        speculate_beside(lambda: next(batches))


def drawn(batches: Iterator[torch.Tensor]) -> Batch:
    return lambda: next(batches)


def generated(batches: Iterator[torch.Tensor]) -> Batch:
    generator = torch.Generator()
    return lambda: torch.randn(8, 12, generator=generator)


def beside_python(batches: Iterator[torch.Tensor]) -> Batch:
    return lambda: next(batches) * random.choice((1, 1))


def beside_numpy(batches: Iterator[torch.Tensor]) -> Batch:
    return lambda: next(batches) * int(np.random.randint(1, 2))


@pytest.mark.parametrize(
    ("make", "keeps"),
    [(drawn, False), (generated, False), (beside_python, True), (beside_numpy, True)],
)
def test_another_batch_is_found_where_a_pass_is_done_again_whole(
    make: Callable[[Iterator[torch.Tensor]], Batch], keeps: bool
) -> None:
    model = plain()
    speculation = begun(model, sgd(model), tau=0, keep_outputs=keeps)
    reject(speculation, 3)
    batch = make(iter(torch.randn(9, 8, 12)))
    speculation.step(lambda: model(torch.ones(8, 12)).square().mean())
    with pytest.raises(RuntimeError, match=REFUSED.format(r"'\(model\)' \(call 0\)")):
        speculation.step(lambda: model(batch()).square().mean())


def test_noise_in_front_of_all_weights_is_found_where_a_pass_is_done_again_whole() -> None:
    class Noise(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.generator = torch.Generator()

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x + torch.rand(12, generator=self.generator)

    model = nn.Sequential(Noise(), nn.Linear(12, 12), nn.Linear(12, 2))
    speculation = begun(model, sgd(model), tau=0, keep_outputs=False)
    reject(speculation, 1)
    with pytest.raises(RuntimeError, match=REFUSED.format(r"'1' \(call 2\)")):
        for _ in range(2):
            speculation.step(lambda: model(torch.ones(8, 12)).square().mean())


def test_another_batch_is_found_where_a_parameter_is_used_outside_of_its_module() -> None:
    """From the pass on in which that is found, no outputs are kept."""
    model = Residual()
    speculation = begun(model, sgd(model), tau=0)
    reject(speculation, 3)
    batches = iter(torch.randn(9, 8, 12))
    speculation.step(lambda: model(torch.ones(8, 12)).square().mean())
    with pytest.raises(RuntimeError, match=REFUSED.format(r"'\(model\)' \(call 0\)")):
        speculation.step(lambda: model(next(batches)).square().mean())


@pytest.mark.parametrize("looks", [7, 10**9])
@pytest.mark.parametrize("depth", [1, 2])
def test_another_batch_of_a_later_closure_is_found(depth: int, looks: int) -> None:
    model = plain()
    speculation = begun(model, sgd(model), tau=0, depth=depth, looks=lambda: looks)
    reject(speculation, 1)
    batches = iter(torch.randn(99, 8, 12))
    with pytest.raises(RuntimeError, match=REFUSED.format(r"'\(model\)' \(call 0\)")):
        for _ in range(8):
            speculation.step(
                lambda: model(torch.ones(8, 12)).square().mean(),
                lambda: model(next(batches)).square().mean(),
            )


def result(_: nn.Module, made: torch.Tensor) -> torch.Tensor:
    return made.detach()


def product(model: Any, made: torch.Tensor) -> torch.Tensor:
    return torch.ones_like(made) @ model[0].weight


def detached(model: Any, made: torch.Tensor) -> torch.Tensor:
    return product(model, made).detach()


@pytest.mark.parametrize("inputs", [result, product, detached])
@pytest.mark.parametrize("keeps", [True, False])
def test_what_stands_on_weights_or_on_a_closure_before_may_differ(
    keeps: bool, inputs: Callable[[Any, torch.Tensor], torch.Tensor]
) -> None:
    """Inputs of a later closure then differ when it is run again, and are the same once more."""

    def trained(depth: int) -> tuple[list[torch.Tensor], int]:
        torch.manual_seed(3)
        model = nn.ModuleList([nn.Linear(12, 12), nn.Linear(12, 12)])
        speculation = begun(model, sgd(model), tau=0, depth=depth, keep_outputs=keeps)
        forget_guesses(speculation)
        made: list[torch.Tensor] = []

        def first() -> torch.Tensor:
            made[:] = [model[1](model[0](torch.linspace(-1, 1, 96).view(8, 12)))]
            return made[0].square().mean()

        def second() -> torch.Tensor:
            return model[1](model[0](inputs(model, made[0])) + torch.rand(8, 12)).square().mean()

        for _ in range(4):
            speculation.step(first, second)
        redone = speculation.passes_redone
        speculation.close()
        return [*model.parameters()], redone

    (off, _), (on, redone) = trained(0), trained(1)
    assert all(torch.equal(one, own) for one, own in zip(off, on, strict=True))
    again = 0 if inputs is product else 3  # what has a gradient is not compared
    assert redone in (3 + again, 3 + again + 1)  # a use outside of modules' calls is found once

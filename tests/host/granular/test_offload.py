"""Costs of products on a device, counted over a run."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
import torch

import adagrain
from adagrain.host.device.coprocessor import Coprocessor
from adagrain.host.device.product import Product
from adagrain.host.granular.offload import Offload
from adagrain.models.arithmetic.float import Flag
from adagrain.models.interface.configuration import configuration
from adagrain.models.interface.precision import Precision
from adagrain.models.numerics.quantisation import Operand

#: Of two numbers, and of six in three rows; 3 of 4 slices multiply.
A = Operand(torch.tensor([[1.0, 2.0], [3.0, 4.0]]), None, Precision.FP32)
B = Operand(torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]), None, Precision.FP32)


class Clocked:
    """A golden device, whose products take so many cycles."""

    def __init__(self, device: Coprocessor) -> None:
        self.device, self.configuration = device, device.configuration
        self.cycles = iter((70, 900, 11))
        self.begins_anew = False

    def matmul(self, *arguments: Any) -> Product:
        found = self.device.matmul(*arguments)
        if self.begins_anew:
            return replace(found, cycles=0, busy=0)
        return replace(found, cycles=next(self.cycles))


@pytest.fixture
def offload() -> Iterator[Offload]:
    with adagrain.open_device("golden:", configuration("granular", operands=64)) as device:
        yield Offload(Clocked(device))  # type: ignore[arg-type]


def test_counts_add_up(offload: Offload) -> None:
    assert offload.multiply(A, B).tolist() == [[5, 11, 17], [11, 25, 39]]
    once = offload.state_dict()
    # each row of A takes its two pairs, and a fourth of 12 multiplications is 3
    assert once | {"bytes_moved": 0} == {
        "products": 1,
        "cycles": 70,
        "busy": 4,
        "bytes_moved": 0,
        "reckoned": 3,
        "flags": 0,
    }
    assert once["bytes_moved"] > (4 + 6) * 4 + 6 * 5
    huge = replace(A, numbers=A.numbers * 1e38)
    offload.multiply(huge, B)
    twice = offload.state_dict()
    for name, count in once.items():
        more = {"cycles": 900, "flags": Flag.OVERFLOW | Flag.INEXACT}.get(name, count)
        assert twice[name] == count + more, name


def test_counting_goes_on_from_what_was_kept(offload: Offload) -> None:
    kept = {"products": 5, "cycles": 4, "busy": 3, "bytes_moved": 2, "reckoned": 1, "flags": 8}
    offload.load_state_dict(kept)
    assert offload.state_dict() == kept
    offload.multiply(A, B)
    found = offload.state_dict()
    assert (found["products"], found["cycles"], found["busy"]) == (6, 74, 7)


def test_a_device_that_counts_anew_says_nothing_of_what_comes_on_top(offload: Offload) -> None:
    """It was reset in the middle of a product, or replaced."""
    offload.multiply(A, B)
    before = offload.state_dict()
    offload._device.begins_anew = True  # type: ignore[attr-defined]
    assert offload.multiply(A, B).tolist() == [[5, 11, 17], [11, 25, 39]]
    after = offload.state_dict()
    assert after["products"] == before["products"] + 1
    assert all(after[name] == before[name] for name in ("cycles", "busy", "reckoned"))


def test_other_steps_are_computed_here(offload: Offload) -> None:
    offload.every = 3
    for step in range(7):
        offload.step = step
        assert offload.active == (step in (0, 3, 6))
        assert offload.multiply(A, B).tolist() == [[5, 11, 17], [11, 25, 39]]
    assert offload.products == 3


def test_every_must_be_positive() -> None:
    with (
        adagrain.open_device("golden:", "granular") as device,
        pytest.raises(ValueError, match="every must be at least 1, not 0"),
    ):
        Offload(device, 0)

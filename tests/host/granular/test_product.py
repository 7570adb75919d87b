"""Operands of products in FP16, whose smallest numbers are lost where they are not brought up."""

import pytest
import torch
from granular_networks import network

from adagrain.host.granular import Policy, convert
from adagrain.host.granular.product import _operand
from adagrain.models.interface.precision import Precision

SMALLEST = 2.0**-24


@pytest.mark.parametrize(
    ("largest", "small", "kept"),
    [
        (2.0**-5, SMALLEST, True),
        (2.0**-5, SMALLEST / 4, False),
        (2.0**-6, SMALLEST / 4, True),
        (2.0**-40, 2.0**-50, True),
        (2.0**14, SMALLEST, True),
        (2.0**15, SMALLEST, False),
        (2.0**15, 2.0**-18, True),
        (2.0**40, 2.0**17, True),
    ],
)
def test_numbers_are_brought_into_range(largest: float, small: float, kept: bool) -> None:
    """A row's largest number goes just below 2**10, where it is not from 2**-6 to 2**15."""
    found = _operand(torch.tensor([[largest, small]]), Precision.FP16)
    assert found.tolist() == [[largest, small if kept else 0.0]]


def test_thresholds_take_part_in_every_pass() -> None:
    """As DistributedDataParallel demands of parameters, also where there is no penalty."""
    model = convert(network(), Policy())
    model(torch.randn(4, 12)).sum().backward()
    for layer in (model.one, model.two):
        gradient = layer.controllers.thresholds.grad
        assert gradient is not None
        assert not gradient.any()

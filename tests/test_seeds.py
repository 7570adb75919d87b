"""Generators that all tests share are seeded before each of them."""

import random

import numpy as np
import pytest
import torch


def draws() -> tuple[float, ...]:
    return random.random(), np.random.random(), float(torch.rand(()))


@pytest.fixture(scope="module")
def first() -> list[tuple[float, ...]]:
    return []


@pytest.mark.parametrize("number", range(2))
def test_each_test_draws_the_same(number: int, first: list[tuple[float, ...]]) -> None:
    found = draws()
    first.append(found)
    assert found == first[0]

"""Selection by magnitude, beside a sort."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from adagrain.models.numerics.largest import largest


def by_sort(x: torch.Tensor, count: int) -> list[bool]:
    magnitudes = x.view(torch.int32).numpy() & 0x7FFFFFFF
    found = np.zeros(len(x), dtype=bool)
    found[np.argsort(-magnitudes, kind="stable")[:count]] = True
    return found.tolist()


@given(st.data(), st.lists(st.integers(-(1 << 31), (1 << 31) - 1), min_size=1, max_size=40))
def test_any_bits(data: st.DataObject, words: list[int]) -> None:
    words += data.draw(st.lists(st.sampled_from(words), max_size=20))
    x = torch.tensor(words, dtype=torch.int32).view(torch.float32)
    count = data.draw(st.integers(1, len(words)))
    assert largest(x, count).tolist() == by_sort(x, count)


@pytest.mark.parametrize("spread", [0.0, 1e-3, 1.0, 8.0])
def test_many_elements(spread: float, seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(70_001, generator=generator)
    x *= torch.exp(spread * torch.randn(70_001, generator=generator))
    x[::7] = x[3]
    for count in (1, 700, 10_001, 70_000, 70_001):
        assert largest(x, count).tolist() == by_sort(x, count)


def test_zeros_and_what_is_not_finite() -> None:
    x = torch.tensor([0.0, -0.0, torch.inf, 1e-45, -torch.nan, -3e38])
    assert largest(x, 3).tolist() == [False, False, True, False, True, True]
    assert largest(torch.zeros(4), 2).tolist() == [True, True, False, False]

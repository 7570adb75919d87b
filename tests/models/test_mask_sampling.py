"""Samples of parts of a gradient, against statistics of the same elements."""

import math
import random

import pytest
import torch

from adagrain.models.interface.formats import FORMATS, STREAMED
from adagrain.models.mask_network import Sampled, sample_of, sampled
from adagrain.models.numerics.normalised_variance import exponent_of
from adagrain.models.statistics import statistics

DTYPES = [FORMATS[code].dtype for code in STREAMED]


def wanted(part: torch.Tensor) -> Sampled:
    sample = sample_of(part).float()
    found = statistics(sample, exponent_of(sample), powers=2, kernel="reference")
    return Sampled(found.s2, len(sample), found.exponent)


@pytest.mark.parametrize("dtype", DTYPES)
def test_they_are_those_of_their_statistics(dtype: torch.dtype, seed: int) -> None:
    """Of any bits, of numbers of about one size, and strided ones."""
    generator = random.Random(seed)
    sizes = tuple(generator.choice([1, 4095, 4096, 4097, 8192, 12_289]) for _ in range(6))
    raw = bytearray(generator.randbytes(2 * sum(sizes) * dtype.itemsize))
    anything = torch.frombuffer(raw, dtype=dtype)[::2]
    sized = torch.randn(sum(sizes), generator=torch.Generator().manual_seed(seed)).to(dtype)
    for flat in (anything, sized):
        assert sampled(flat, sizes) == [*map(wanted, flat.split(list(sizes)))]


@pytest.mark.parametrize("value", [0.0, -0.0, 1e-45, 1e-38, 3e38, math.inf, -math.inf, math.nan])
def test_special_elements(value: float) -> None:
    flat = torch.tensor([value, value, 1.0, value])
    assert sampled(flat, (2, 2)) == [wanted(flat[:2]), wanted(flat[2:])]


@pytest.mark.parametrize(("elements", "taken"), [(1, 1), (4096, 4096), (4097, 2049), (8193, 2731)])
def test_elements_evenly_apart(elements: int, taken: int) -> None:
    flat = torch.arange(elements, dtype=torch.float32)
    assert len(sample_of(flat)) == taken <= 4096
    assert sampled(flat, (elements,))[0].count == taken

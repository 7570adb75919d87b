"""Tensors of any format, size and strides, and numbers of threads that look at them."""

import math
import random
from collections.abc import Iterator

import pytest
import torch

from adagrain.models.interface.formats import FORMATS, STREAMED
from adagrain.models.statistics.batch import CHUNK

__all__ = ["chunked", "tensor_of", "threads"]

_DTYPES = [FORMATS[code].dtype for code in STREAMED]


@pytest.fixture(params=[1, 2, 3])
def threads(request: pytest.FixtureRequest) -> Iterator[int]:
    before = torch.get_num_threads()
    torch.set_num_threads(request.param)
    yield request.param
    torch.set_num_threads(before)


def tensor_of(generator: random.Random, elements: int) -> torch.Tensor:
    """Any bits, or numbers of about one size; whole, or every other element of more."""
    dtype = generator.choice(_DTYPES)
    raw = bytearray(generator.randbytes(2 * elements * dtype.itemsize))
    anything = torch.frombuffer(raw, dtype=dtype)
    sized = torch.tensor([generator.gauss(0, 1) for _ in range(2 * elements)]).to(dtype)
    both = generator.choice([anything, sized])
    return generator.choice([both[:elements], both[::2], both.view(2, -1).t()[: elements // 2]])


def chunked(seed: int) -> tuple[list[torch.Tensor], list[int]]:
    """FP32 of sizes around a chunk's, special elements at their edges; an exponent for each."""
    generator = torch.Generator().manual_seed(seed)
    sizes = (1, 3 * CHUNK + 5, 7, CHUNK, CHUNK + 1, 2, 30_000)
    tensors = [torch.randn(size, generator=generator) for size in sizes]
    tensors[1][[0, CHUNK - 1, CHUNK, -1]] = torch.tensor([math.nan, math.inf, -math.inf, 9e9])
    return tensors, [3, 2, 1, 0, -1, 127, -9]

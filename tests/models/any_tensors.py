"""Tensors of any format, size and strides, and numbers of threads that look at them."""

import random
from collections.abc import Iterator

import pytest
import torch

from adagrain.models.interface.formats import FORMATS, STREAMED

__all__ = ["tensor_of", "threads"]

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

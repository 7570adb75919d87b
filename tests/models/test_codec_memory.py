"""Tensors as they lie in memory: at any address, in any strides, of any size."""

import pytest
import torch
from codec_tensors import masked, same

from adagrain.models.codec import decode, encode
from adagrain.models.interface.codec import BLOCK
from adagrain.models.interface.formats import FormatCode


@pytest.mark.parametrize("first", range(1, 8))
def test_elements_may_begin_at_any_address(first: int, seed: int) -> None:
    """They are looked at in words of 64 bits, and what is left at their ends one by one."""
    x = masked(BLOCK + 1000, 0.05, FormatCode.BF16, seed)
    parts = [x[first:77], x[77 + first : -first]]
    frame = encode(parts)
    assert frame == encode([part.clone() for part in parts])
    assert same(decode(frame), parts)


def test_ten_million_elements() -> None:
    x = torch.zeros(10_000_000, dtype=torch.bfloat16)
    x[::1000] = torch.randn(10_000).bfloat16()
    (found,) = decode(encode([x]))
    assert torch.equal(found.view(torch.int16), x.view(torch.int16))


def test_regions_of_any_strides_and_gradients_will_do() -> None:
    x = torch.randn(30, 40).bfloat16().t().requires_grad_()
    flat = x.detach().contiguous().view(-1)
    assert same(decode(encode([x, torch.zeros(0, 3).bfloat16()])), [flat, flat[:0]])

"""Fewer mantissa bits: against exact fractions."""

import os
from fractions import Fraction

import numpy as np
import pytest
import torch

from adagrain.models.codec import with_mantissa_bits
from adagrain.models.interface.formats import FORMATS, ElementFormat, FormatCode

#: All words, or every eleventh.
FULL = os.environ.get("ADAGRAIN_FULL") == "1"

CODES = (FormatCode.BF16, FormatCode.FP16)


def words_of(x: torch.Tensor) -> list[int]:
    return x.view(torch.int16).numpy().view(np.uint16).tolist()


def rounded(word: int, fmt: ElementFormat, bits: int) -> int:
    """The nearest number of so many mantissa bits, by exact fractions, ties to even."""
    sign, magnitude = word & 0x8000, word & 0x7FFF
    field, mantissa = magnitude >> fmt.mantissa_bits, magnitude % (1 << fmt.mantissa_bits)
    if field == (1 << fmt.exponent_bits) - 1:
        return word
    unit = Fraction(1 << fmt.mantissa_bits - bits)
    value = Fraction(mantissa + (1 << fmt.mantissa_bits if field else 0))
    steps = round(value / unit)  # Python rounds to nearest even
    new = int(steps * unit) - (1 << fmt.mantissa_bits if field else 0)
    return sign | (field << fmt.mantissa_bits) + new


@pytest.mark.parametrize("code", CODES)
def test_every_number_is_rounded_to_nearest_even(code: FormatCode) -> None:
    fmt = FORMATS[code]
    words = np.arange(0, 1 << 16, 1 if FULL else 11).astype(np.uint16)
    x = torch.from_numpy(words.view(np.int16)).view(fmt.dtype)
    for bits in {0, 1, 4, fmt.mantissa_bits - 1, fmt.mantissa_bits}:
        found = words_of(with_mantissa_bits(x, bits))
        wanted = [rounded(word, fmt, bits) for word in words.tolist()]
        assert found == wanted, f"{bits} bits"


def test_shapes_and_strides_are_kept() -> None:
    x = torch.randn(4, 6).bfloat16().t()
    found = with_mantissa_bits(x, 2)
    assert found.shape == (6, 4) and torch.equal(found, with_mantissa_bits(x.contiguous(), 2))
    assert torch.equal(with_mantissa_bits(torch._neg_view(x.contiguous()), 2), -found)


@pytest.mark.parametrize(
    ("x", "bits", "error", "message"),
    [
        (torch.zeros(1), 3, TypeError, r"must be torch\.bfloat16 or torch\.float16, not .*32"),
        (torch.zeros(1).bfloat16(), 8, ValueError, "bits must be from 0 to 7, not 8"),
        (torch.zeros(1).half(), 2.5, TypeError, r"bits must be a whole number, not 2\.5"),
        (torch.zeros(1).half(), -1, ValueError, "bits must be from 0 to 10, not -1"),
    ],
)
def test_wrong_arguments(x: torch.Tensor, bits: int, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        with_mantissa_bits(x, bits)

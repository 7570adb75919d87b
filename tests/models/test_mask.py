"""The golden mask against magnitudes told by logarithms, element by element."""

import math
import random

import numpy as np
import pytest
import torch

from adagrain.models.interface.formats import FORMATS, ElementFormat, FormatCode
from adagrain.models.mask import masked
from adagrain.models.mask_kernel import chosen
from adagrain.models.mask_network import base_of
from adagrain.models.numerics.half_binades import half_binade_sums

BF16, FP16 = FORMATS[FormatCode.BF16], FORMATS[FormatCode.FP16]
EVERY = torch.arange(-(1 << 15), 1 << 15, dtype=torch.int32).to(torch.int16)


def bin_of(value: float, exponent: int, smallest: int) -> float:
    """Half binades below the upper half of the base's binade; of subnormals, the lowest binade."""
    if not math.isfinite(value):
        return -math.inf
    magnitude = abs(value)
    binade = math.floor(math.log2(magnitude)) if magnitude else smallest - 1
    binade = max(binade, smallest - 1)
    upper = magnitude >= 1.5 * 2.0**binade if binade >= smallest else magnitude >= 2.0**binade
    return 2 * (exponent - binade) + 1 - upper


@pytest.mark.parametrize("fmt", (BF16, FP16), ids=("bf16", "fp16"))
def test_every_element_is_kept_by_its_magnitude(fmt: ElementFormat, seed: int) -> None:
    generator = random.Random(seed)
    smallest = 1 - fmt.bias  # exponent of the smallest normal number
    for _ in range(3):
        field = generator.randrange((1 << fmt.exponent_bits) - 1)
        keep = [generator.randrange(2) for _ in range(64)]
        kept = masked(EVERY.view(fmt.dtype), field, keep).view(torch.int16).tolist()
        values = EVERY.view(fmt.dtype).double().tolist()
        for word, value, found in zip(EVERY.tolist(), values, kept, strict=True):
            number = bin_of(value, field - fmt.bias, smallest)
            wanted = word if number < 0 or keep[int(min(number, 63))] else 0
            assert found == wanted, f"{value} with base {field}: seed {seed}"


def test_shape_and_type_stay() -> None:
    x = torch.randn(3, 1, 5).bfloat16().transpose(0, 2)
    assert torch.equal(masked(x, 254, [1] * 64), x)
    assert torch.equal(masked(x, 254, [0] * 64), torch.zeros_like(x))
    assert torch.equal(masked(torch._neg_view(x.contiguous()), 254, [1] * 64), -x)


@pytest.mark.parametrize(
    ("tensor", "exponent", "keep", "error", "message"),
    [
        (torch.ones(1), 0, [1] * 64, TypeError, "dtype must be one of .*, not torch.float32"),
        (torch.ones(1).half(), 31, [1] * 64, ValueError, "exponent must be from 0 to 30, not 31"),
        (torch.ones(1).half(), 1.5, [1] * 64, TypeError, "exponent must be a whole number, not 1"),
        (torch.ones(1).half(), True, [1] * 64, TypeError, "exponent must be a whole number, not T"),
        (
            torch.ones(1).half(),
            "3",
            [1] * 64,
            TypeError,
            "exponent must be a whole number, not '3'",
        ),
        (torch.ones(1).half(), 3, [1] * 63, ValueError, r"keep must have 64 entries, not shape"),
        (torch.ones(1).half(), 3, [2] * 64, ValueError, "entries of keep must be 0 or 1, not 2"),
    ],
)
def test_what_cannot_be_is_refused(
    tensor: torch.Tensor, exponent: int, keep: list[int], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        masked(tensor, exponent, keep)


def test_the_choice_for_many_regions_is_that_of_each(seed: int) -> None:
    draw = np.random.default_rng(seed)
    words = draw.integers(0, 1 << 32, 9000, dtype=np.uint32)
    words[:4] = 0x7FFFFFFF, 0xFF800000, 0x7F7FFFFF, 0x3FBF8000
    words[4:8] = 0x3FFF8000, 0x3FFF7FFF, 0x3FBF7FFF, 1
    x = torch.from_numpy(words.view(np.float32))
    sizes = (1, 3, 5000, 3996)
    exponents, tables = draw.integers(0, 255, 4), draw.random((4, 64)) < 0.5
    exponents[:2] = 127
    found = chosen(x, sizes, exponents, tables)
    assert (found.sums == half_binade_sums(x, sizes)).all()
    assert (found.bases == base_of(found.sums)).all()
    parts = found.kept.split(sizes)
    for own, part, exponent, table in zip(x.split(sizes), parts, exponents, tables, strict=True):
        rounded = torch.where(own.isnan(), torch.nan, own).bfloat16()
        wanted = masked(rounded, int(exponent), table.astype(int)).view(torch.int16)
        assert torch.equal(torch.where(part, rounded.view(torch.int16), 0), wanted)


def test_finite_elements_are_not_kept_for_a_carry_into_infinity() -> None:
    x = torch.tensor([3.4e38, -3.4e38, 2.5e38, torch.inf, -torch.inf, torch.nan])
    for number, kept in ((0, [True] * 2 + [False]), (1, [False] * 2 + [True]), (2, [False] * 3)):
        tables = np.arange(64)[np.newaxis] == number
        found = chosen(x, (6,), np.array([254]), tables)
        assert found.kept.tolist() == [*kept, True, True, True]


def test_elements_that_are_kept_or_there_are_counted(seed: int) -> None:
    draw = np.random.default_rng(seed)
    x = torch.from_numpy(draw.normal(size=900).astype(np.float32) ** 9).bfloat16().float()
    x[:11] = torch.tensor([0.0] * 9 + [torch.inf, torch.nan])
    exponents, tables = np.array([128, 120]), draw.random((2, 64)) < 0.3
    found = chosen(x, (500, 400), exponents, tables)
    there = (x != 0) & x.isfinite()
    assert found.elements == int((found.kept & there).sum()) > 0
    assert found.there == int(there.sum())

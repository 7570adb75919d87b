"""The further formats of the table, against ml_dtypes and against all their numbers."""

from collections.abc import Callable
from dataclasses import replace

import ml_dtypes
import numpy as np
import pytest
import torch

from adagrain.models.arithmetic.float import Flag, Rounded, add, convert, multiply
from adagrain.models.interface.configuration import configuration
from adagrain.models.interface.formats import FORMATS, ElementFormat, FormatCode, format_of

FP32 = FORMATS[FormatCode.FP32]
REFERENCES = {
    FORMATS[FormatCode.BF16]: ml_dtypes.bfloat16,
    FORMATS[FormatCode.FP8_E4M3]: ml_dtypes.float8_e4m3fn,
    FORMATS[FormatCode.FP8_E5M2]: ml_dtypes.float8_e5m2,
}
EIGHT_BITS = [fmt for fmt in REFERENCES if fmt.bits == 8]

formats = pytest.mark.parametrize("fmt", REFERENCES, ids=lambda fmt: fmt.code.name)


def values(words: np.ndarray, fmt: ElementFormat) -> np.ndarray:
    """Values of words, as ml_dtypes has them; exact in float64."""
    with np.errstate(invalid="ignore"):  # widening a signalling NaN
        return words.astype(f"<u{fmt.bits // 8}").view(REFERENCES[fmt]).astype(np.float64)


def nearest(exact: np.ndarray, fmt: ElementFormat) -> Rounded:
    """The nearest number by search among all of them, with the flags; for what is not NaN."""
    table = values(np.arange(fmt.overflow_value), fmt)
    size = np.abs(exact)
    above = np.minimum(np.searchsorted(table, size), fmt.overflow_value - 1)
    below = np.maximum(above - (table[above] > size), 0)
    above = np.where(table[above] < size, fmt.overflow_value, above)
    last = table[-1] + (table[-1] - table[-2])  # what would come next
    high = np.append(table, last)[above]
    middle = (table[below] + high) / 2
    up = (size > middle) | ((size == middle) & (below % 2 == 1))
    magnitude = np.where(size == table[below], below, np.where(up, above, below))
    least = table[1 << fmt.mantissa_bits]
    overflow = (magnitude >= fmt.overflow_value) & np.isfinite(size)
    inexact = np.isfinite(size) & (overflow | (size != np.append(table, last)[magnitude]))
    tiny = size < least * (1 - 2.0 ** -(fmt.mantissa_bits + 2))
    flags = inexact * Flag.INEXACT + (inexact & tiny) * Flag.UNDERFLOW + overflow * Flag.OVERFLOW
    magnitude = np.where(np.isinf(size), fmt.overflow_value, magnitude)
    words = magnitude | np.signbit(exact).astype(np.int64) << (fmt.bits - 1)
    return Rounded(words, flags)


def demand_nearest(found: Rounded, exact: np.ndarray, fmt: ElementFormat) -> None:
    wanted = nearest(np.nan_to_num(exact, nan=0.0, posinf=np.inf, neginf=-np.inf), fmt)
    known = ~np.isnan(exact) & (np.isfinite(exact) | fmt.infinities)
    assert np.array_equal(found.words[known], wanted.words[known])
    assert np.array_equal(found.flags[known], wanted.flags[known])
    assert (found.words[np.isnan(exact)] == fmt.quiet_nan).all()


@formats
def test_every_number_is_widened_exactly(fmt: ElementFormat) -> None:
    words = np.arange(1 << fmt.bits)
    wanted = values(words, fmt)
    found = convert(words, fmt, FP32)
    numbers = found.words.astype("<u4").view(np.float32)
    assert np.array_equal(numbers, wanted.astype(np.float32), equal_nan=True)
    assert np.array_equal(np.signbit(numbers), np.signbit(wanted) & ~np.isnan(wanted))
    assert not (found.flags & ~Flag.INVALID).any()


@formats
def test_fp32_is_narrowed_as_ml_dtypes_does(fmt: ElementFormat) -> None:
    rng = np.random.default_rng(1)
    steps = values(np.arange(fmt.overflow_value), fmt).astype(np.float32)
    middles = steps[1:] / 2 + steps[:-1] / 2
    near = np.concatenate([np.nextafter(middles, np.float32(s)) for s in (-np.inf, np.inf)])
    random = rng.integers(0, 1 << 32, 200_000).astype(np.uint32).view(np.float32)
    ends = np.array([np.inf, -np.inf, np.nan, 448, 464, 465, 480, 57344, 61440, 1e30], np.float32)
    inputs = np.concatenate([steps, middles, near, random, ends, -middles])
    found = convert(inputs.view(np.uint32).astype(np.int64), FP32, fmt)
    with np.errstate(all="ignore"):
        wanted = inputs.astype(REFERENCES[fmt]).astype(np.float64)
    assert np.array_equal(values(found.words, fmt), wanted, equal_nan=True)
    with np.errstate(invalid="ignore"):
        demand_nearest(found, inputs.astype(np.float64), fmt)


@pytest.mark.parametrize(
    ("ours", "theirs"), [(multiply, np.multiply), (add, np.add)], ids=["multiply", "add"]
)
@formats
def test_arithmetic(
    fmt: ElementFormat,
    ours: Callable[..., Rounded],
    theirs: Callable[[np.ndarray, np.ndarray], np.ndarray],
) -> None:
    """All pairs of eight bits; random ones of BF16, whose sums are exact in float64 when near."""
    if fmt in EIGHT_BITS:
        a, b = (side.ravel() for side in np.meshgrid(*[np.arange(256)] * 2))
    else:
        a = np.random.default_rng(2).integers(0, 1 << 16, 300_000)
        near = np.random.default_rng(3).integers(-40 << 7, 40 << 7, a.size)
        b = np.clip((a & 0x7FFF) + near, 0, 0x7FFF) | near << 15 & 0x8000
    with np.errstate(invalid="ignore"):
        exact = theirs(values(a, fmt), values(b, fmt))
    demand_nearest(ours(a, b, fmt), exact, fmt)


def test_e4m3_says_where_it_has_no_infinity() -> None:
    fmt = FORMATS[FormatCode.FP8_E4M3]
    found = convert(np.array([0x7F80_0000, 0x43E8_0001, 0x43E8_0000]), FP32, fmt)
    assert found.words.tolist() == [0x7F, 0x7F, 0x7E]  # beyond 464, the middle, there is the NaN
    overflow = int(Flag.OVERFLOW | Flag.INEXACT)
    assert found.flags.tolist() == [overflow, overflow, int(Flag.INEXACT)]


def test_streams_of_eight_bits_are_refused() -> None:
    with pytest.raises(TypeError, match=r"dtype must be one of .*bfloat16, not torch.float8_e5m2"):
        format_of(torch.float8_e5m2)
    with pytest.raises(ValueError, match="formats must be of FP32, FP16, BF16, not FP8_E5M2"):
        replace(configuration("tiny"), formats=(FormatCode.FP32, FormatCode.FP8_E5M2))

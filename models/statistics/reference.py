"""The arithmetic of ``statistics`` as integers on torch tensors: slow, plain, the reference."""

from typing import TypedDict

import numpy as np
import torch

from adagrain.models.interface.formats import ElementFormat

__all__ = ["LARGEST_Q", "Sums", "quantised", "reference_sums", "widened"]

#: Raw bins of the histogram: exponent field and top bit of the significand.
RAW_BINS = 512

LARGEST_Q = 32767


class Sums(TypedDict):
    """Results of a kernel; named as in ``StatisticsRecord``.

    Members
    -------
    raw_bins : ndarray of int64, (512, 2)
        Counts and energies before read-out; all 0 where no histogram was asked for.
    """

    nan: int
    positive_infinity: int
    negative_infinity: int
    zero: int
    saturated: int
    minimum: int
    maximum: int
    largest_exponent: int
    none_finite: int
    s1: int
    s2: int
    s3: int
    s4: int
    raw_bins: np.ndarray


def widened(x: torch.Tensor, fmt: ElementFormat) -> torch.Tensor:
    """Words of the elements as FP32, in int64; exact, NaN payloads aside.

    A subnormal of a format with fewer exponent bits than FP32 is normalised.
    """
    mask = (1 << fmt.bits) - 1
    words = x.view(torch.int32 if fmt.bits == 32 else torch.int16).to(torch.int64) & mask
    if fmt.exponent_bits == 8:
        return words << (32 - fmt.bits)
    sign = words >> (fmt.bits - 1) << 31
    field = words >> fmt.mantissa_bits & ((1 << fmt.exponent_bits) - 1)
    mantissa = words & ((1 << fmt.mantissa_bits) - 1)
    special = field == (1 << fmt.exponent_bits) - 1
    length = sum((mantissa >> bit != 0).to(torch.int64) for bit in range(fmt.mantissa_bits))
    shift = torch.where((field == 0) & (mantissa != 0), fmt.mantissa_bits + 1 - length, 0)
    normal = (mantissa << shift) & ((1 << fmt.mantissa_bits) - 1)
    exponent = torch.where(field == 0, 1 - shift, field) + 127 - fmt.bias
    exponent = torch.where(special, 255, torch.where((field == 0) & (mantissa == 0), 0, exponent))
    return sign | exponent << 23 | normal << (23 - fmt.mantissa_bits)


def reference_sums(
    x: torch.Tensor, fmt: ElementFormat, exponent: int, powers: int, histogram: bool
) -> Sums:
    """Everything that a pass finds, element by element in int64, sums in two limbs.

    Parameters
    ----------
    x : Tensor
        One dimension, contiguous, on the CPU, not empty.
    fmt : ElementFormat
        Its format.
    exponent : int
        Shared exponent, biased, 1 to 254.
    powers : int
        2 or 4.
    histogram : bool
        Whether to fill the raw bins.
    """
    words = widened(x, fmt)
    negative = words >> 31 == 1
    field = words >> 23 & 0xFF
    mantissa = words & 0x7FFFFF
    special = field == 255
    finite = ~special
    zero = (field == 0) & (mantissa == 0)

    signed, saturated = quantised(words, exponent)
    q = signed.abs()
    keys = torch.where(negative, ~words & 0xFFFFFFFF, words | 0x80000000)[finite]
    higher = powers == 4
    return Sums(
        nan=_count(special & (mantissa != 0)),
        positive_infinity=_count(special & (mantissa == 0) & ~negative),
        negative_infinity=_count(special & (mantissa == 0) & negative),
        zero=_count(zero),
        saturated=_count(saturated),
        minimum=_word(int(keys.min())) if len(keys) else 0,
        maximum=_word(int(keys.max())) if len(keys) else 0,
        largest_exponent=int(field[finite].max()) if len(keys) else 0,
        none_finite=int(not len(keys)),
        s1=int(signed.sum()),
        s2=_exact_sum(q * q),
        s3=_exact_sum(signed * q * q) if higher else 0,
        s4=_exact_sum(q * q * q * q) if higher else 0,
        raw_bins=_histogram(words[finite & ~zero if histogram else slice(0)]),
    )


def quantised(words: torch.Tensor, exponent: int) -> tuple[torch.Tensor, torch.Tensor]:
    """q of FP32 words, and whether it was clamped: the significand shifted right, nearest even.

    Both are 0 where an element is not finite.
    """
    field = words >> 23 & 0xFF
    significand = words & 0x7FFFFF | (field != 0).to(torch.int64) << 23
    shift = exponent - field.clamp(min=1) + 9  # the significand has 23 fraction bits, q has 14
    right = shift.clamp(1, 40)
    kept = significand >> right
    lost = significand & ((1 << right) - 1)
    half = torch.ones_like(right) << (right - 1)
    rounded = kept + ((lost > half) | ((lost == half) & (kept & 1 == 1))).to(torch.int64)
    too_large = (shift < 1) & (significand != 0) | (rounded > LARGEST_Q)
    q = torch.where(field == 255, 0, torch.where(too_large, LARGEST_Q, rounded))
    return torch.where(words >> 31 == 1, -q, q), too_large & (field != 255)


def _histogram(words: torch.Tensor) -> np.ndarray:
    number = words >> 22 & (RAW_BINS - 1)
    significand = words >> 16 & 0x7F | (words >> 23 & 0xFF != 0).to(torch.int64) << 7
    counts = torch.bincount(number, minlength=RAW_BINS)
    energies = torch.zeros(RAW_BINS, dtype=torch.int64).index_add_(0, number, significand**2)
    return torch.stack([counts, energies], dim=1).numpy()


def _exact_sum(values: torch.Tensor) -> int:
    """Sum in two limbs of 32 bits, so that no int64 overflows."""
    return (int((values >> 32).sum()) << 32) + int((values & 0xFFFFFFFF).sum())


def _count(flags: torch.Tensor) -> int:
    return int(flags.sum())


def _word(key: int) -> int:
    """The FP32 word of a sort key."""
    return key & 0x7FFFFFFF if key >> 31 else ~key & 0xFFFFFFFF

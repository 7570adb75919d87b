"""Golden model of ``statistics``: one pass over a tensor, in exact integers."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Self

import numpy as np
import torch

from adagrain.models.interface.formats import format_of
from adagrain.models.interface.records import pack, size, unpack
from adagrain.models.interface.units.statistics import BINS, HistogramBin, StatisticsRecord

from . import kernel as statistics_kernel
from .batch import fused_sums_of
from .reference import Sums, reference_sums

__all__ = [
    "EXPONENT_BIAS", "FRACTION_BITS", "KERNELS", "Statistics", "statistics", "statistics_of",
    "statistics_of_elements", "unbiased",
]  # fmt: skip

EXPONENT_BIAS = 127

#: Bits of a quantised element below its shared exponent: q = x·2^(14−E).
FRACTION_BITS = 14


def unbiased(exponent: int) -> int:
    """A biased exponent field as the shared exponent E; subnormals share the field 1."""
    return min(max(exponent, 1), 254) - EXPONENT_BIAS


@dataclass(frozen=True)
class Statistics:
    """Result of a pass: the fields of ``StatisticsRecord``, and what follows from them.

    Moments are of the quantised finite elements, in units of the tensor; non-finite ones count
    in ``count`` only.

    Members
    -------
    histogram : tuple of (count, energy) or None
        64 bins, half a binade each, from the largest exponent down; the last takes the rest.
    """

    count: int
    nan: int
    positive_infinity: int
    negative_infinity: int
    zero: int
    saturated: int
    minimum: int
    maximum: int
    largest_exponent: int
    exponent: int
    none_finite: int
    overflow: int
    s1: int
    s2: int
    s3: int
    s4: int
    histogram: tuple[tuple[int, int], ...] | None = None

    @classmethod
    def from_record(cls, record: bytes, histogram: bytes | None = None) -> Self:
        """Unpack a ``StatisticsRecord``, and the ``HistogramBin`` records that belong to it."""
        return cls(**unpack(StatisticsRecord, record), histogram=_unpack_bins(histogram))

    def record(self) -> bytes:
        """The ``StatisticsRecord``."""
        values = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "histogram"}
        return pack(StatisticsRecord, **values)

    def histogram_bytes(self) -> bytes | None:
        """The ``HistogramBin`` records, if there is a histogram."""
        if self.histogram is None:
            return None
        return b"".join(pack(HistogramBin, count=n, energy=e) for n, e in self.histogram)

    @property
    def finite(self) -> int:
        """Elements that are neither NaN nor infinite; the divisor of every moment."""
        return self.count - self.nan - self.positive_infinity - self.negative_infinity

    @property
    def valid(self) -> bool:
        """The sums are those of the tensor: nothing clamped, nothing non-finite."""
        return not self.saturated and not self.overflow and self.finite == self.count

    @property
    def unit(self) -> Fraction:
        """Value of the quantised 1."""
        shift = self.exponent - EXPONENT_BIAS - FRACTION_BITS
        return Fraction(2) ** shift

    @property
    def mean(self) -> float:
        """Mean; NaN where nothing is finite."""
        return float(self.unit * Fraction(self.s1, self.finite)) if self.finite else math.nan

    @property
    def variance(self) -> float:
        """Population variance, from N·S2 − S1² without cancellation."""
        if not self.finite:
            return math.nan
        return float(self.unit**2 * Fraction(self.central(2), self.finite**2))

    @property
    def skewness(self) -> float:
        """Third standardised moment; NaN where the variance is 0, or s3 was not summed."""
        variance = self.central(2) if self.finite and self.s4 else 0
        return self.central(3) / variance**1.5 if variance else math.nan

    @property
    def kurtosis(self) -> float:
        """Fourth standardised moment (3 for a normal distribution); NaN as above."""
        variance = self.central(2) if self.finite and self.s4 else 0
        return float(Fraction(self.central(4), variance**2)) if variance else math.nan

    @property
    def l2_norm(self) -> float:
        """Root of the sum of squares."""
        return math.sqrt(self.unit**2 * self.s2)

    @property
    def rms(self) -> float:
        """Root of the mean square; NaN where nothing is finite."""
        return self.l2_norm / math.sqrt(self.finite) if self.finite else math.nan

    def central(self, power: int) -> int:
        """N^power times the central moment of that power, an exact integer."""
        n, s1 = self.finite, self.s1
        if power == 2:
            return n * self.s2 - s1**2
        if power == 3:
            return n**2 * self.s3 - 3 * n * s1 * self.s2 + 2 * s1**3
        return n**3 * self.s4 - 4 * n**2 * s1 * self.s3 + 6 * n * s1**2 * self.s2 - 3 * s1**4


def statistics(
    x: torch.Tensor,
    exponent: int | None,
    *,
    powers: int = 4,
    histogram: bool = False,
    kernel: str = "fused",
) -> Statistics:
    """One pass over a tensor.

    Parameters
    ----------
    x : Tensor
        Any shape; FP32, FP16 or BF16; at least one element.
    exponent : int or None
        Shared exponent E, -126 to 127. Elements become q = RNE(x·2^(14−E)), clamped to ±32767;
        those that are clamped are counted. ``None``: the largest exponent of ``x``.
    powers : int
        Highest power sum, 2 or 4; higher ones stay 0.
    histogram : bool
        Whether to fill the 64 bins.
    kernel : str
        ``"fused"`` (compiled) or ``"reference"`` (integers on torch tensors); bit-identical.

    Raises
    ------
    TypeError
        If the tensor's type is not in the table of formats.
    ValueError
        If the tensor is empty, or an argument is out of its range.
    """
    _check(x, exponent, powers, kernel)
    fmt, flat = format_of(x.dtype), _flat(x)
    run = KERNELS[kernel]
    if exponent is None:
        exponent = unbiased(run(flat, fmt, 254, 2, False)["largest_exponent"])
    biased = exponent + EXPONENT_BIAS
    sums = run(flat, fmt, biased, powers, histogram)
    bins = _rebased(sums["raw_bins"], sums["largest_exponent"]) if histogram else None
    return _of(sums, flat.numel(), biased, bins)


def statistics_of(
    tensors: Sequence[torch.Tensor],
    exponents: Sequence[int],
    *,
    powers: int = 4,
    kernel: str = "fused",
) -> list[Statistics]:
    """:func:`statistics` of each tensor, without histograms; fused, it is one call.

    Parameters
    ----------
    tensors : sequence of Tensor
        As in :func:`statistics`.
    exponents : sequence of int
        The shared exponent of each.
    powers, kernel
        As in :func:`statistics`.

    Raises
    ------
    TypeError, ValueError
        As :func:`statistics`; or if there are not as many exponents as tensors.
    """
    if len(exponents) != len(tensors):
        raise ValueError(
            f"exponents must be as many as the {len(tensors)} tensors, not {len(exponents)}"
        )
    for x, exponent in zip(tensors, exponents, strict=True):
        _check(x, exponent, powers, kernel)
    flats = [_flat(x) for x in tensors]
    return statistics_of_elements(flats, exponents, powers=powers, kernel=kernel)


def statistics_of_elements(
    tensors: Sequence[torch.Tensor],
    exponents: Sequence[int],
    *,
    powers: int = 4,
    kernel: str = "fused",
) -> list[Statistics]:
    """As :func:`statistics_of`, of what has been checked: several times a step, of many tensors.

    Parameters
    ----------
    tensors : sequence of Tensor
        Each of one dimension, contiguous, on the CPU.
    exponents, powers, kernel
        As in :func:`statistics_of`.
    """
    if not tensors:
        return []
    biased = [exponent + EXPONENT_BIAS for exponent in exponents]
    if kernel == "fused":
        sums = fused_sums_of(tensors, biased, powers)
    else:
        rows = zip(tensors, biased, strict=True)
        sums = [KERNELS[kernel](x, format_of(x.dtype), e, powers, False) for x, e in rows]
    found = zip(sums, tensors, biased, strict=True)
    return [_of(own, x.numel(), exponent) for own, x, exponent in found]


def _check(x: torch.Tensor, exponent: int | None, powers: int, kernel: str) -> None:
    format_of(x.dtype)
    if x.numel() == 0:
        raise ValueError("tensor must have at least one element, not 0")
    if powers not in (2, 4):
        raise ValueError(f"powers must be 2 or 4, not {powers!r}")
    if exponent is not None and not -126 <= exponent <= 127:
        raise ValueError(f"exponent must be from -126 to 127, not {exponent!r}")
    if kernel not in KERNELS:
        raise ValueError(f"kernel must be one of {', '.join(KERNELS)}, not {kernel!r}")


def _flat(x: torch.Tensor) -> torch.Tensor:
    if x.dim() == 1 and x.is_cpu and x.is_contiguous():
        return x.detach() if x.requires_grad else x
    return x.detach().to("cpu").contiguous().view(-1)


def _of(
    sums: Sums, count: int, exponent: int, bins: tuple[tuple[int, int], ...] | None = None
) -> Statistics:
    made = object.__new__(Statistics)
    found = vars(made)  # many are made in each step; the frozen class is slow to make them
    found.update(sums)
    del found["raw_bins"]
    found.update(count=count, exponent=exponent, overflow=0, histogram=bins)
    return made


#: Implementations of the sums, by name.
KERNELS: dict[str, Callable[..., Sums]] = {
    "fused": statistics_kernel.fused_sums,
    "reference": reference_sums,
}


def _rebased(raw: np.ndarray, largest_exponent: int) -> tuple[tuple[int, int], ...]:
    """The 64 bins from the 512 raw ones, as the gateware reads them out.

    Bin b is the raw bin ``2·largest_exponent + 1 − b``. Bin 63 takes all below it as well: from
    the smallest exponent up, the energy so far is divided by 4, rounded down, whenever the
    exponent grows by one, so that it ends in units of bin 63's own.
    """
    top = 2 * largest_exponent + 1
    lowest = max(top - (BINS - 2), 0)  # raw bin of bin 62
    bins = np.zeros((BINS, 2), dtype=np.int64)
    bins[: top + 1 - lowest] = raw[lowest : top + 1][::-1]
    energy = 0
    for number in range(int(np.argmax(raw[:lowest, 0] > 0)) if lowest else 0, lowest):
        if number % 2 == 0 and number > 2:
            energy >>= 2
        energy += int(raw[number, 1])
    bins[-1] = raw[:lowest, 0].sum(), energy
    return tuple((count, energy) for count, energy in bins.tolist())


def _unpack_bins(raw: bytes | None) -> tuple[tuple[int, int], ...] | None:
    if raw is None:
        return None
    width = size(HistogramBin)
    records = (unpack(HistogramBin, raw[i : i + width]) for i in range(0, len(raw), width))
    return tuple((record["count"], record["energy"]) for record in records)

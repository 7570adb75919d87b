"""Result of a pass of ``statistics``: a record, and the moments that follow from it."""

import math
from dataclasses import dataclass, fields
from fractions import Fraction
from operator import index
from typing import Self

from adagrain.models.interface.records import pack, size, unpack
from adagrain.models.interface.units.statistics import HistogramBin, StatisticsRecord

__all__ = ["EXPONENT_BIAS", "FRACTION_BITS", "Statistics", "check_exponent", "unbiased"]

EXPONENT_BIAS = 127

#: Bits of a quantised element below its shared exponent: q = x·2^(14−E).
FRACTION_BITS = 14


def unbiased(exponent: int) -> int:
    """A biased exponent field as the shared exponent E; subnormals share the field 1."""
    return min(max(exponent, 1), 254) - EXPONENT_BIAS


def check_exponent(exponent: int) -> int:
    """A shared exponent E as a Python integer: NumPy's narrow ones would wrap in a sum.

    Raises
    ------
    TypeError, ValueError
        If it is no integer, or not from -126 to 127.
    """
    try:
        checked = index(exponent)
    except TypeError:
        raise TypeError(f"exponent must be an integer, not {exponent!r}") from None
    if not -126 <= checked <= 127:
        raise ValueError(f"exponent must be from -126 to 127, not {checked}")
    return checked


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


def _unpack_bins(raw: bytes | None) -> tuple[tuple[int, int], ...] | None:
    if raw is None:
        return None
    width = size(HistogramBin)
    records = (unpack(HistogramBin, raw[i : i + width]) for i in range(0, len(raw), width))
    return tuple((record["count"], record["energy"]) for record in records)

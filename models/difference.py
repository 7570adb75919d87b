"""Golden model of ``difference``: one pass over two tensors, in exact integers."""

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Self

import numpy as np
import torch

from .device.refusal import require
from .device.tensor_input import TensorInputModel
from .device.tensor_pass import TensorPassModel
from .difference_kernel import FOUND, compare
from .interface.configuration import Configuration
from .interface.formats import format_of
from .interface.protocol import Status
from .interface.records import pack, unpack
from .interface.units.difference import DIFFERENCE, DifferenceRecord
from .statistics import EXPONENT_BIAS, FRACTION_BITS, check_exponent, unbiased
from .statistics import KERNELS as STATISTICS_KERNELS
from .statistics.kernel import all_scales
from .statistics.reference import quantised, widened

__all__ = [
    "KERNELS", "Difference", "DifferenceCommands", "check_pair", "difference",
    "differences_of_elements",
]  # fmt: skip

_Pairs = Sequence[tuple[torch.Tensor, torch.Tensor]]

#: Pairs that a pass may have: it counts elements of both tensors in 32 bits.
_MOST = (1 << 31) - 1


@dataclass(frozen=True)
class Difference:
    """Result of a pass: the fields of ``DifferenceRecord``, and what follows from them.

    Errors are of the quantised finite pairs, in units of the tensors; relative ones have the
    same measure of the truth as their divisor: they are infinite where that one alone is 0, NaN
    where both are.
    """

    count: int
    non_finite: int
    saturated: int
    sum_squared: int
    sum_absolute: int
    energy: int
    sum_magnitude: int
    largest: int
    absmax: int
    exponent: int
    bitwise_equal: int

    @classmethod
    def from_record(cls, record: bytes) -> Self:
        """Unpack a ``DifferenceRecord``."""
        return cls(**unpack(DifferenceRecord, record))

    def record(self) -> bytes:
        """The ``DifferenceRecord``."""
        return pack(DifferenceRecord, **asdict(self))

    @property
    def finite(self) -> int:
        """Pairs of which both elements are finite; the divisor of every mean."""
        return self.count - self.non_finite

    @property
    def valid(self) -> bool:
        """The sums are those of the tensors: nothing clamped, nothing non-finite."""
        return not self.saturated and not self.non_finite

    @property
    def unit(self) -> Fraction:
        """Value of the quantised 1."""
        return Fraction(2) ** (self.exponent - EXPONENT_BIAS - FRACTION_BITS)

    @property
    def rmse(self) -> float:
        """Root of the mean squared difference; NaN where no pair is finite."""
        if not self.finite:
            return math.nan
        return math.sqrt(self.unit**2 * Fraction(self.sum_squared, self.finite))

    @property
    def mean_absolute(self) -> float:
        """Mean of the absolute difference; NaN where no pair is finite."""
        if not self.finite:
            return math.nan
        return float(self.unit * Fraction(self.sum_absolute, self.finite))

    @property
    def largest_difference(self) -> float:
        """Largest absolute difference; NaN where no pair is finite."""
        return float(self.unit * self.largest) if self.finite else math.nan

    @property
    def relative_rmse(self) -> float:
        """Root of the mean squared difference, in units of the truth's root mean square."""
        return math.sqrt(_ratio(self.sum_squared, self.energy))

    @property
    def relative_mean_absolute(self) -> float:
        """Mean of the absolute difference, in units of the truth's mean magnitude."""
        return float(_ratio(self.sum_absolute, self.sum_magnitude))

    @property
    def relative_largest_difference(self) -> float:
        """Largest absolute difference, in units of the truth's largest magnitude."""
        return float(_ratio(self.largest, self.absmax))


def difference(
    a: torch.Tensor, b: torch.Tensor, exponent: int | None = None, *, kernel: str = "fused"
) -> Difference:
    """One pass over a guess and the truth.

    Parameters
    ----------
    a, b : Tensor
        Guess and truth: any shape, but the same; FP32, FP16 or BF16, both the same; at least one
        element, fewer than 2^31.
    exponent : int or None
        Shared exponent E, -126 to 127. Elements become q = RNE(x·2^(14−E)), clamped to ±32767;
        those that are clamped are counted. ``None``: the largest exponent of ``b``.
    kernel : str
        ``"fused"`` (compiled) or ``"reference"`` (integers on torch tensors); bit-identical.

    Raises
    ------
    TypeError
        If the tensors' types differ, theirs is not in the table of formats, or the exponent is no
        integer.
    ValueError
        If the tensors' shapes differ, they are empty or too long, or an argument is out of its
        range.
    """
    fmt = format_of(a.dtype)
    check_pair(a, b)
    if exponent is not None:
        exponent = check_exponent(exponent)
    if kernel not in KERNELS:
        raise ValueError(f"kernel must be one of {', '.join(KERNELS)}, not {kernel!r}")
    flat_a, flat_b = (x.detach().to("cpu").resolve_neg().contiguous().view(-1) for x in (a, b))
    if exponent is None:
        sums = STATISTICS_KERNELS[kernel](flat_b, fmt, 254, 2, False)
        exponent = unbiased(sums["largest_exponent"])
    return differences_of_elements([(flat_a, flat_b)], [exponent], kernel=kernel)[0]


def differences_of_elements(
    pairs: _Pairs, exponents: Sequence[int], *, kernel: str = "fused"
) -> list[Difference]:
    """As :func:`difference`, of what has been checked: several times a step, of many tensors.

    Parameters
    ----------
    pairs : sequence of pairs of Tensor
        Guesses and truths, each of one dimension, contiguous, on the CPU.
    exponents : sequence of int
        The shared exponent of each pair.
    kernel : str
        As in :func:`difference`.
    """
    if not pairs:
        return []
    biased = [exponent + EXPONENT_BIAS for exponent in exponents]
    rows = zip(KERNELS[kernel](pairs, biased), pairs, biased, strict=True)
    return [_of(sums, a.numel(), exponent) for sums, (a, _), exponent in rows]


def check_pair(a: torch.Tensor, b: torch.Tensor) -> None:
    """Make sure that two tensors can be compared.

    Raises
    ------
    TypeError, ValueError
        If their types or shapes differ, or they are empty or too long.
    """
    if b.dtype != a.dtype:
        raise TypeError(f"dtype of b must be that of a, {a.dtype}, not {b.dtype}")
    if b.shape != a.shape:
        raise ValueError(f"shape of b must be that of a, {tuple(a.shape)}, not {tuple(b.shape)}")
    if not 1 <= a.numel() <= _MOST:
        raise ValueError(f"tensors must have from 1 to {_MOST} elements, not {a.numel()}")


def _reference(pairs: _Pairs, exponents: Sequence[int]) -> list[dict[str, int]]:
    """All that depends on elements, pair by pair in int64, which holds the sums of any pass."""
    return [_sums(a, b, exponent) for (a, b), exponent in zip(pairs, exponents, strict=True)]


def _sums(a: torch.Tensor, b: torch.Tensor, exponent: int) -> dict[str, int]:
    fmt = format_of(a.dtype)
    words_a, words_b = widened(a, fmt), widened(b, fmt)
    finite = (words_a >> 23 & 0xFF != 255) & (words_b >> 23 & 0xFF != 255)
    qa, clamped_a = quantised(words_a[finite], exponent)
    qb, clamped_b = quantised(words_b[finite], exponent)
    error, truth = (qa - qb).abs(), qb.abs()
    return {
        "non_finite": int((~finite).sum()),
        "saturated": int(clamped_a.sum() + clamped_b.sum()),
        "sum_squared": int((error * error).sum()),
        "sum_absolute": int(error.sum()),
        "energy": int((truth * truth).sum()),
        "sum_magnitude": int(truth.sum()),
        "largest": int(error.max()) if len(error) else 0,
        "absmax": int(truth.max()) if len(truth) else 0,
        "bitwise_equal": int(torch.equal(a.view(torch.uint8), b.view(torch.uint8))),
    }


def _fused(pairs: _Pairs, exponents: Sequence[int]) -> list[dict[str, int]]:
    """As :func:`_reference`, fast."""
    values = [(a.to(torch.float32), b.to(torch.float32)) for a, b in pairs]
    table = [
        (
            *map(torch.Tensor.data_ptr, (*value, *pair)),
            pair[0].numel(),
            pair[0].nbytes // 2,
            exponent,
        )
        for value, pair, exponent in zip(values, pairs, exponents, strict=True)
    ]
    found = np.zeros((len(table), len(FOUND)), dtype=np.int64)
    compare(np.array(table, dtype=np.int64), all_scales(), found)
    return [dict(zip(FOUND, row, strict=True)) for row in found.tolist()]


#: Implementations of the sums, by name.
KERNELS: dict[str, Callable[[_Pairs, Sequence[int]], list[dict[str, int]]]] = {
    "fused": _fused,
    "reference": _reference,
}


class DifferenceCommands(TensorPassModel):
    """Golden model of the unit's passes, behind a device's requests.

    Parameters
    ----------
    configuration, tensor_input
        As those of :class:`adagrain.models.device.unit_model.UnitModel`.
    """

    def __init__(self, configuration: Configuration, tensor_input: TensorInputModel) -> None:
        super().__init__(configuration, tensor_input, DIFFERENCE)

    def check(self, begin: dict[str, int]) -> None:
        require(1 <= begin["exponent"] <= 254 and begin["count"] % 2 == 0, Status.BAD_VALUE)

    def result(self, begin: dict[str, int], tensor: torch.Tensor) -> bytes:
        guess, truth = tensor.view(-1, 2).unbind(1)
        return difference(guess, truth, begin["exponent"] - EXPONENT_BIAS).record()


def _of(sums: dict[str, int], count: int, exponent: int) -> Difference:
    made = object.__new__(Difference)
    vars(made).update(sums, count=count, exponent=exponent)  # the frozen class is slow to make them
    return made


def _ratio(part: int, whole: int) -> Fraction | float:
    if whole:
        return Fraction(part, whole)
    return math.inf if part else math.nan

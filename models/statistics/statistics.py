"""Golden model of ``statistics``: one pass over a tensor, in exact integers."""

from collections.abc import Callable, Sequence

import numpy as np
import torch

from adagrain.models.interface.formats import format_of
from adagrain.models.interface.units.statistics import BINS

from . import kernel as statistics_kernel
from .batch import Batch
from .energy import Energy, fused_energies
from .reference import Sums, reference_sums
from .result import EXPONENT_BIAS, FRACTION_BITS, Statistics, check_exponent, unbiased
from .sums import fused_sums_of

__all__ = [
    "EXPONENT_BIAS", "FRACTION_BITS", "KERNELS", "Batch", "Energy", "Statistics", "check_exponent",
    "energies_of_elements", "statistics", "statistics_of", "statistics_of_elements", "unbiased",
]  # fmt: skip


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
        If the tensor's type is not in the table of formats, or the exponent is no integer.
    ValueError
        If the tensor is empty, or an argument is out of its range.
    """
    _check(x, powers, kernel)
    if exponent is not None:
        exponent = check_exponent(exponent)
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
    for x in tensors:
        _check(x, powers, kernel)
    checked = [check_exponent(exponent) for exponent in exponents]
    flats = [_flat(x) for x in tensors]
    return statistics_of_elements(flats, checked, powers=powers, kernel=kernel)


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


def energies_of_elements(
    batch: Batch, exponents: Sequence[int], *, kernel: str = "fused"
) -> list[Energy]:
    """:meth:`Energy.of` the statistics of each tensor; fused, they are found alone, faster.

    Parameters
    ----------
    batch : Batch
        The tensors.
    exponents, kernel
        As in :func:`statistics_of_elements`.
    """
    if batch and kernel == "fused":
        return fused_energies(batch, exponents)
    found = statistics_of_elements(batch, exponents, powers=2, kernel=kernel)
    return [Energy.of(one) for one in found]


def _check(x: torch.Tensor, powers: int, kernel: str) -> None:
    format_of(x.dtype)
    if x.numel() == 0:
        raise ValueError("tensor must have at least one element, not 0")
    if powers not in (2, 4):
        raise ValueError(f"powers must be 2 or 4, not {powers!r}")
    if kernel not in KERNELS:
        raise ValueError(f"kernel must be one of {', '.join(KERNELS)}, not {kernel!r}")


def _flat(x: torch.Tensor) -> torch.Tensor:
    if x.dim() == 1 and x.is_cpu and x.is_contiguous() and not x.is_neg():
        return x.detach() if x.requires_grad else x
    return x.detach().to("cpu").resolve_neg().contiguous().view(-1)


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

"""Energies of tensors: that part of their statistics which regions are decided on."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from .batch import Batch, on_threads
from .energy_kernel import ENERGIES, join_energies, run_energies
from .kernel import all_scales
from .result import EXPONENT_BIAS, Statistics

__all__ = ["Energy", "fused_energies"]


class Energy(NamedTuple):
    """Energy of a tensor at a shared exponent, and what its value depends on.

    Members
    -------
    s2 : int
        Sum of the quantised elements' squares.
    non_finite, saturated : int
        Elements that are not finite, or clamped.
    largest_exponent : int
        Of the finite elements, biased.
    zero : int
        1 if all elements are 0, or else 0.
    """

    s2: int
    non_finite: int
    saturated: int
    largest_exponent: int
    zero: int

    @classmethod
    def of(cls, found: Statistics) -> "Energy":
        """That of a tensor whose statistics are known."""
        non_finite = found.count - found.finite
        zero = int(found.zero == found.count)
        return cls(found.s2, non_finite, found.saturated, found.largest_exponent, zero)

    @property
    def valid(self) -> bool:
        """The sum is that of the tensor: nothing clamped, nothing non-finite."""
        return not (self.saturated or self.non_finite)


def fused_energies(batch: Batch, exponents: Sequence[int]) -> list[Energy]:
    """:meth:`Energy.of` the statistics of each tensor, in one compiled pass.

    Parameters
    ----------
    batch : Batch
        The tensors.
    exponents : sequence of int
        The shared exponent of each.
    """
    values = batch.fp32()
    parts = values.parts
    biased = np.array(exponents, dtype=np.int64) + EXPONENT_BIAS
    results = np.zeros((len(parts), ENERGIES), dtype=np.int64)

    def run(own: slice) -> None:
        run_energies(parts[own], biased, all_scales(), results[own])

    on_threads(run, values)
    energies = np.zeros((len(batch), ENERGIES), dtype=np.int64)
    join_energies(parts, results, energies)
    return [*map(Energy._make, energies.tolist())]

"""Sums of several tensors in one compiled call: those of the single kernel, bit for bit."""

from collections.abc import Sequence
from itertools import islice

import numpy as np
import torch

from .batch import CHUNK, Batch, on_threads
from .kernel import FOUND, SUMS, all_scales, merged, run_parts
from .reference import Sums

__all__ = ["fused_sums_of"]


def fused_sums_of(
    tensors: Sequence[torch.Tensor], exponents: Sequence[int], powers: int
) -> list[Sums]:
    """:func:`adagrain.models.statistics.kernel.fused_sums` of each tensor.

    Parameters
    ----------
    tensors : sequence of Tensor
        Each of one dimension, contiguous, on the CPU, not empty.
    exponents : sequence of int
        The shared exponent of each, biased.
    powers : int
        2 or 4.
    """
    batch = Batch(tensors).fp32()
    parts = batch.parts
    results = np.zeros((len(parts), FOUND + SUMS), dtype=np.int64)
    biased = np.array(exponents, dtype=np.int64)

    def run(own: slice) -> None:
        run_parts(parts[own], biased, all_scales(), powers, results[own])

    on_threads(run, batch)
    rows = iter(results.tolist())
    return [merged([*islice(rows, -(-x.numel() // CHUNK))]) for x in batch]

"""Sums of several tensors in one compiled call; those of each are the single kernel's, bit for bit.

Tensors are cut into parts whose sums fit int64. Compiled code finds each part by its address, so
that Python does nothing for a tensor but to write a line of a table.
"""

from collections.abc import Sequence
from itertools import groupby, pairwise
from typing import NamedTuple

import numpy as np
import torch

from .kernel import CHUNK, THREADED, merged, nothing_found, pool, run_parts, scales_of
from .reference import Sums

__all__ = ["fused_sums_of"]


class _Part(NamedTuple):
    """Elements that follow each other in memory, and the number of the tensor that they are of."""

    tensor: int
    address: int
    elements: int


def fused_sums_of(
    tensors: Sequence[torch.Tensor], exponents: Sequence[int], powers: int
) -> list[Sums]:
    """What :func:`adagrain.models.statistics.kernel.fused_sums` finds of each tensor.

    Parameters
    ----------
    tensors : sequence of Tensor
        Each of one dimension, contiguous, on the CPU, not empty.
    exponents : sequence of int
        The shared exponent of each, biased.
    powers : int
        2 or 4.
    """
    values = [x.to(torch.float32) for x in tensors]
    parts = _parts(values)
    found, sums = nothing_found(len(parts)), np.zeros((len(parts), 5), dtype=np.int64)
    threads = torch.get_num_threads() if sum(map(torch.numel, values)) >= THREADED else 1
    _run(_table(parts, exponents), powers, found, sums, threads=threads)
    rows = zip(parts, found.tolist(), sums.tolist(), strict=True)
    return [
        merged(*list(zip(*own, strict=True))[1:])
        for _, own in groupby(rows, key=lambda row: row[0].tensor)
    ]


def _parts(values: Sequence[torch.Tensor]) -> list[_Part]:
    return [
        _Part(number, x.data_ptr() + start * x.element_size(), min(CHUNK, x.numel() - start))
        for number, x in enumerate(values)
        for start in range(0, x.numel(), CHUNK)
    ]


def _table(parts: Sequence[_Part], exponents: Sequence[int]) -> tuple[np.ndarray, ...]:
    """Addresses, sizes, exponents and scales of all parts, as the compiled code takes them."""
    scales = {exponent: scales_of(exponent) for exponent in exponents}
    numbers, addresses, sizes = np.array(parts, dtype=np.int64).T.copy()
    biased = np.array(exponents, dtype=np.int64)[numbers]
    return addresses, sizes, biased, np.stack([scales[exponents[p.tensor]] for p in parts])


def _run(
    table: Sequence[np.ndarray], powers: int, found: np.ndarray, sums: np.ndarray, *, threads: int
) -> None:
    """Run all parts, on threads that have about as many elements each."""
    if threads == 1:
        run_parts(*table, powers, found, sums)
        return
    done = np.cumsum(table[1])
    edges = np.searchsorted(done, done[-1] * np.arange(1, threads) / threads).tolist()
    jobs = []
    for first, last in pairwise([0, *edges, len(done)]):
        own = slice(first, last)
        columns = (column[own] for column in table)
        jobs.append(pool(threads).submit(run_parts, *columns, powers, found[own], sums[own]))
    for job in jobs:
        job.result()

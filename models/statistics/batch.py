"""Sums of several tensors in one compiled call; those of each are the single kernel's, bit for bit.

Tensors are cut into parts whose sums fit int64. Compiled code finds each part by its address, so
that Python does nothing for a tensor but to write a line of a table.
"""

from collections.abc import Sequence
from itertools import islice, pairwise

import numpy as np
import torch

from .kernel import CHUNK, THREADED, merged, nothing_found, pool, run_parts, scales_of
from .reference import Sums

__all__ = ["fused_sums_of"]


#: Octets of an element.
_OCTETS = 4


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
    values = [x if x.dtype == torch.float32 else x.to(torch.float32) for x in tensors]
    sizes = [x.numel() for x in values]
    parts = _parts(values, sizes)
    found, sums = nothing_found(len(parts)), np.zeros((len(parts), 5), dtype=np.int64)
    threads = torch.get_num_threads() if sum(sizes) >= THREADED else 1
    _run(_table(parts, exponents), powers, found, sums, threads=threads)
    rows = zip(found.tolist(), sums.tolist(), strict=True)
    return [merged(*zip(*islice(rows, -(-size // CHUNK)), strict=True)) for size in sizes]


def _parts(values: Sequence[torch.Tensor], sizes: Sequence[int]) -> list[tuple[int, int, int]]:
    """Number of the tensor, address, and elements of each part."""
    parts = []
    for number, (x, size) in enumerate(zip(values, sizes, strict=True)):
        address = x.data_ptr()
        for start in range(0, size, CHUNK):
            parts.append((number, address + _OCTETS * start, min(CHUNK, size - start)))
    return parts


def _table(
    parts: Sequence[tuple[int, int, int]], exponents: Sequence[int]
) -> tuple[np.ndarray, ...]:
    """Addresses, sizes, exponents and scales of all parts, as the compiled code takes them."""
    different = sorted(set(exponents))
    scales = np.stack([scales_of(exponent) for exponent in different])
    numbers, addresses, sizes = np.array(parts, dtype=np.int64).T.copy()
    biased = np.array(exponents, dtype=np.int64)[numbers]
    return addresses, sizes, biased, scales[np.searchsorted(different, biased)]


def _run(
    table: tuple[np.ndarray, ...], powers: int, found: np.ndarray, sums: np.ndarray, *, threads: int
) -> None:
    """Run all parts, on threads that have about as many elements each."""
    addresses, sizes, biased, scales = table

    def run(own: slice) -> None:
        parts = addresses[own], sizes[own], biased[own], scales[own]
        run_parts(*parts, powers, found[own], sums[own])

    if threads == 1:
        run(slice(None))
        return
    done = np.cumsum(sizes)
    edges = np.searchsorted(done, done[-1] * np.arange(1, threads) / threads).tolist()
    slices = [slice(first, last) for first, last in pairwise([0, *edges, len(done)])]
    for _ in pool(threads).map(run, slices):
        pass

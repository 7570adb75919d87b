"""Sums of several tensors in one compiled call; those of each are the single kernel's, bit for bit.

Tensors are cut into parts whose sums fit int64. Compiled code finds each part by its address, so
that Python does nothing for a tensor but to write a line of a table.
"""

from collections.abc import Callable, Sequence
from itertools import islice, pairwise

import numpy as np
import torch

from .kernel import CHUNK, FOUND, SUMS, THREADED, all_scales, merged, pool, run_parts
from .reference import Sums

__all__ = ["fused_sums_of"]


#: Bytes of an element.
_BYTES = 4


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
    values = [x if x.dtype == torch.float32 else x.to(torch.float32) for x in tensors]
    sizes = [x.numel() for x in values]
    parts = np.array(_parts(values, sizes), dtype=np.int64)
    results = np.zeros((len(parts), FOUND + SUMS), dtype=np.int64)
    biased = np.array(exponents, dtype=np.int64)
    threads = torch.get_num_threads() if sum(sizes) >= THREADED else 1

    def run(own: slice) -> None:
        run_parts(parts[own], biased, all_scales(), powers, results[own])

    if threads == 1:
        run(slice(None))
    else:
        _share(run, parts[:, 2], threads)
    rows = iter(results.tolist())
    return [merged([*islice(rows, -(-size // CHUNK))]) for size in sizes]


def _parts(values: Sequence[torch.Tensor], sizes: Sequence[int]) -> list[tuple[int, int, int]]:
    """Number of the tensor, address, and elements of each part."""
    parts = []
    for number, (x, size) in enumerate(zip(values, sizes, strict=True)):
        address = x.data_ptr()
        for start in range(0, size, CHUNK):
            parts.append((number, address + _BYTES * start, min(CHUNK, size - start)))
    return parts


def _share(run: Callable[[slice], None], sizes: np.ndarray, threads: int) -> None:
    """Run all parts on threads that have about as many elements each."""
    done = np.cumsum(sizes)
    edges = np.searchsorted(done, done[-1] * np.arange(1, threads) / threads).tolist()
    slices = [slice(first, last) for first, last in pairwise([0, *edges, len(done)])]
    for _ in pool(threads).map(run, slices):
        pass

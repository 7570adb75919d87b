"""Batches of tensors: found in parts whose sums fit int64, looked at by several threads."""

import os
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache, cached_property
from itertools import pairwise

import numpy as np
import torch

__all__ = ["CHUNK", "THREADED", "Batch", "on_threads", "pool"]

#: Elements of a part: after as many, the sums, below 2**45 each, leave int64.
CHUNK = 1 << 17
#: Tensors of fewer elements are not worth a second thread.
THREADED = 1 << 16

#: Bytes of an element.
_BYTES = 4


class Batch(tuple[torch.Tensor, ...]):
    """Tensors that are looked at again and again, found in memory once.

    Parameters
    ----------
    tensors : iterable of Tensor
        Each of one dimension, contiguous, on the CPU, not empty; their memory stays theirs.
    given : sequence of Tensor
        Those of others in whose memory they are, where these may move.

    Members
    -------
    types : frozenset of torch.dtype
        Their types.
    elements : int
        How many all of them have.
    """

    types: frozenset[torch.dtype]
    elements: int
    _given: tuple[torch.Tensor, ...]
    _addresses: list[int]

    def __new__(
        cls, tensors: Iterable[torch.Tensor], given: Sequence[torch.Tensor] = ()
    ) -> "Batch":
        made = super().__new__(cls, tensors)
        made._given = tuple(given)
        made._addresses = [x.data_ptr() for x in made._given]
        made.types = frozenset(x.dtype for x in made)
        made.elements = sum(x.numel() for x in made)
        return made

    def check_places(self) -> None:
        """Make sure that the tensors which were given are where they were.

        Raises
        ------
        ValueError
            If the memory of one is other memory now.
        """
        now = [*map(torch.Tensor.data_ptr, self._given)]
        if now != self._addresses:
            places = zip(now, self._addresses, strict=True)
            moved = next(number for number, (own, before) in enumerate(places) if own != before)
            raise ValueError(
                f"tensors of a batch must stay where they are in memory, but number {moved} has "
                "moved: make another batch"
            )

    def fp32(self) -> "Batch":
        """These, or others of the same numbers as FP32."""
        return self if self.types == {torch.float32} else Batch(x.to(torch.float32) for x in self)

    @cached_property
    def parts(self) -> np.ndarray:
        """Number of the tensor, address, and elements of each part of FP32 tensors."""
        parts = []
        for number, x in enumerate(self):
            address, size = x.data_ptr(), x.numel()
            for start in range(0, size, CHUNK):
                parts.append((number, address + _BYTES * start, min(CHUNK, size - start)))
        return np.array(parts, dtype=np.int64)


def on_threads(run: Callable[[slice], None], batch: Batch) -> None:
    """Run all parts, on as many threads as torch is set to use, where they are worth it.

    Parameters
    ----------
    run : callable
        Runs some parts that follow each other.
    batch : Batch
        Whose parts they are; each thread gets about as many elements.
    """
    threads = torch.get_num_threads() if batch.elements >= THREADED else 1
    if threads == 1:
        run(slice(None))
        return
    done = np.cumsum(batch.parts[:, 2])
    edges = np.searchsorted(done, done[-1] * np.arange(1, threads) / threads).tolist()
    slices = [slice(first, last) for first, last in pairwise([0, *edges, len(done)])]
    for _ in pool(threads).map(run, slices):
        pass


@cache
def pool(threads: int) -> ThreadPoolExecutor:
    """So many threads, which stay."""
    return ThreadPoolExecutor(threads, thread_name_prefix="statistics")


if hasattr(os, "register_at_fork"):  # a child has none of its parent's threads
    os.register_at_fork(after_in_child=pool.cache_clear)

"""The largest magnitude among elements."""

import math
from functools import cache
from typing import NamedTuple

import numpy as np
import torch
from numba import njit

__all__ = ["Run", "absmax", "array_of", "largest_between_rows", "largest_of", "runs"]

#: All bits of a float32 but its sign: as integers they are in order, NaN above infinity.
_MAGNITUDE = np.int32(0x7FFF_FFFF)


class Run(NamedTuple):
    """Dimensions that follow each other, as one between two others.

    Parameters
    ----------
    before, length, after : int
        Elements before, along and after them.
    shape : tuple of int
        Of a tensor that was made as short as can be along them, and all runs behind them.
    """

    before: int
    length: int
    after: int
    shape: tuple[int, ...]


@cache
def runs(shape: tuple[int, ...], along: tuple[int, ...] | None) -> list[Run]:
    """Runs of a tensor's dimensions, the last one first.

    Parameters
    ----------
    shape : tuple of int
        Of the tensor.
    along : tuple of int or None
        The dimensions, ascending; None: all.
    """
    lengths, found = list(shape), []
    dimensions = list(range(len(shape)) if along is None else along)
    while dimensions:
        start = dimensions.pop()
        stop = start + 1
        while dimensions and dimensions[-1] == start - 1:
            start = dimensions.pop()
        before, length, after = (
            math.prod(part) for part in (lengths[:start], lengths[start:stop], lengths[stop:])
        )
        lengths[start:stop] = [1] * (stop - start)
        found.append(Run(before, length, after, tuple(lengths)))
    return found


def absmax(x: torch.Tensor, along: tuple[int, ...] | None = None) -> torch.Tensor:
    """The largest magnitude along some dimensions, which are kept with a length of 1.

    Parameters
    ----------
    x : Tensor, any shape
        float32.
    along : tuple of int or None
        The dimensions, ascending; None: all.

    Returns
    -------
    Tensor of float32
        NaN where one of the elements is.
    """
    return torch.from_numpy(largest_of(array_of(x), along)).to(x.device)


def array_of(x: torch.Tensor) -> np.ndarray:
    """A tensor's elements, one after another; the same ones where it lies so on the CPU."""
    return x.detach().cpu().resolve_neg().contiguous().numpy()


def largest_of(x: np.ndarray, along: tuple[int, ...] | None = None) -> np.ndarray:
    """:func:`absmax` of a contiguous array."""
    found = x
    for run in runs(x.shape, along):
        largest = np.empty(run.shape, dtype=np.float32)
        out = largest.reshape(run.before, run.after)
        if run.after == 1:
            _in_rows(found.reshape(run.before, run.length), out)
        else:
            largest_between_rows(found.reshape(run.before, run.length, run.after), out)
        found = largest
    return found


@njit(cache=True, nogil=True)
def _in_rows(x, out):  # pragma: no cover - compiled
    bits, largest = x.view(np.int32), out.view(np.int32)
    for i in range(x.shape[0]):
        row = bits[i]
        most = np.int32(0)
        for j in range(row.size):
            most = max(most, row[j] & _MAGNITUDE)
        largest[i, 0] = most


@njit(cache=True, nogil=True)
def largest_between_rows(x, out):  # pragma: no cover - compiled
    """Largest magnitudes of ``x``, (before, length, after), into ``out``, (before, after)."""
    bits, largest = x.view(np.int32), out.view(np.int32)
    for i in range(x.shape[0]):
        most = largest[i]
        most[:] = 0
        for j in range(x.shape[1]):
            row = bits[i, j]
            for k in range(row.size):
                most[k] = max(most[k], row[k] & _MAGNITUDE)

"""Rounding to multiples of powers of two, compiled."""

import numpy as np
import torch
from numba import njit

from .magnitude import array_of, runs

__all__ = ["multiples", "multiples_between_rows"]

#: Knuth's multiplier for hashing, 2**32 over the golden ratio; then the first shift and multiplier
#: of Wellons's lowbias32 (https://github.com/skeeto/hash-prospector).
_OF_PLACES, _FOLD, _OF_BOTH = np.uint32(2654435769), np.uint32(16), np.uint32(0x7FEB352D)

#: The bits of a float32 that are its fraction: neither exponent nor sign.
_FRACTION = np.uint32(0x007F_FFFF)

#: What is added before it is rounded down: the upper half of a hash, as the middles of 2**16 parts
#: of 1, so that it is neither too much nor too little on average.
_HIGH, _PART, _HALF_PART = np.uint32(16), np.float32(2.0**-16), np.float32(2.0**-17)


def multiples(
    x: torch.Tensor,
    scale: torch.Tensor,
    along: tuple[int, ...] | None,
    top: int,
    *,
    stochastic: bool = False,
    valued: bool = False,
) -> torch.Tensor:
    """Whole numbers that stand for a tensor.

    Parameters
    ----------
    x : Tensor, any shape
        float32.
    scale : Tensor of float32
        Powers of two, with a length of 1 in the dimensions along which elements share one.
    along : tuple of int or None
        These dimensions, ascending; None: all.
    top : int
        Largest magnitude; what is above becomes that.
    stochastic : bool
        Whether to round by chance, as :mod:`adagrain.models.numerics.stochastic_rounding` does,
        by fraction and place in the tensor; or to nearest even.
    valued : bool
        Whether to multiply the numbers by the scale.

    Returns
    -------
    Tensor of float32, as ``x``, contiguous
    """
    run = runs(x.shape, along)[0]
    numbers, scales = array_of(x), array_of(scale)
    out = np.empty_like(numbers)
    if scales.shape != run.shape:
        scales = np.broadcast_to(scales, run.shape)
    scales = scales.reshape(run.before, run.after)
    kernel = _rows if run.after == 1 else multiples_between_rows
    shape = (run.before, run.length, run.after)[: 2 + (run.after > 1)]
    ways = np.float32(top), stochastic, valued
    kernel(numbers.reshape(shape), scales, *ways, out.reshape(shape))
    return torch.from_numpy(out).to(x.device)


@njit(nogil=True, inline="always")
def _whole(number, bits, place, top, stochastic):  # pragma: no cover - compiled
    if stochastic:
        mixed = np.uint32(place * _OF_PLACES) ^ (bits & _FRACTION)
        mixed = np.uint32((mixed ^ mixed >> _FOLD) * _OF_BOTH)
        number = np.floor(number + (np.float32(np.int32(mixed >> _HIGH)) * _PART + _HALF_PART))
    else:
        number = np.rint(number)
    number = top if number > top else number
    return -top if number < -top else number


@njit(cache=True, nogil=True)
def _rows(x, scales, top, stochastic, valued, out):  # pragma: no cover - compiled
    one, bits = np.float32(1), x.view(np.uint32)
    for i in range(x.shape[0]):
        scale = scales[i, 0]
        up, back = one / scale, scale if valued else one
        row, own, found, first = x[i], bits[i], out[i], np.uint32(i * x.shape[1])
        for j in range(row.size):
            place = np.uint32(first + np.uint32(j))
            found[j] = _whole(row[j] * up, own[j], place, top, stochastic) * back


@njit(cache=True, nogil=True)
def multiples_between_rows(x, scales, top, stochastic, valued, out):  # pragma: no cover - compiled
    """:func:`multiples` of ``x``, (before, length, after), at ``scales``, (before, after)."""
    one, bits = np.float32(1), x.view(np.uint32)
    for i in range(x.shape[0]):
        ups = one / scales[i]
        backs = scales[i] if valued else np.ones_like(ups)
        for j in range(x.shape[1]):
            row, own, found = x[i, j], bits[i, j], out[i, j]
            first = np.uint32((i * x.shape[1] + j) * row.size)
            for k in range(row.size):
                place = np.uint32(first + np.uint32(k))
                found[k] = _whole(row[k] * ups[k], own[k], place, top, stochastic) * backs[k]

"""Rounding that is right on average, and the same each time.

A number between two integers goes to the upper one as often as it is near to it; a hash of the
number's own fraction takes the part of chance. So small numbers are not lost in a sum of many, as
rounding to nearest would lose them, and yet no state of a random generator has to be kept: equal
numbers are rounded alike, on every machine, and a tensor times a power of two to the same integers.
"""

import numpy as np
import torch
from numba import njit

from .precision import Precision
from .quantisation import LEVELS, scale_of

__all__ = ["dithered"]

#: Knuth's multiplier for hashing, 2**32 over the golden ratio, as a signed number.
_HASH = np.int32(2654435769 - (1 << 32))

#: Bits of the product from 7 to 22: they depend on the number's fraction alone, not on its
#: exponent or sign.
_LOW, _PARTS = np.int32(7), np.int32(0xFFFF)
_PART = np.float32(2.0**-16)


def dithered(x: torch.Tensor, precision: Precision, name: str = "x") -> torch.Tensor:
    """Multiples of a scale for each row, as float32.

    Parameters
    ----------
    x : Tensor, shape (m, n)
        Finite float32 numbers.
    precision : Precision
        INT8 or INT4.
    name : str
        What the tensor is, for messages.

    Returns
    -------
    Tensor of float32, shape (m, n)
        Integers of the precision, times their row's scale.

    Raises
    ------
    ValueError
        As :func:`adagrain.models.quantisation.scale_of`.
    """
    scale = scale_of(x, precision, by_row=True, name=name)
    numbers = x.detach().contiguous().cpu()
    found = torch.empty_like(numbers)
    rows = scale.flatten().cpu().numpy()
    _dither(numbers.numpy(), rows, np.float32(LEVELS[precision]), found.numpy())
    return found.to(x.device)


@njit(cache=True, nogil=True)
def _dither(x, scales, top, out):  # pragma: no cover - compiled
    bits = x.view(np.int32)
    for i in range(x.shape[0]):
        scale = scales[i]
        up = np.float32(1) / scale
        for j in range(x.shape[1]):
            mixed = np.int32(np.int32(bits[i, j]) * _HASH)
            chance = np.float32((mixed >> _LOW) & _PARTS) * _PART
            number = np.floor(x[i, j] * up + chance)
            number = top if number > top else number
            number = -top if number < -top else number
            out[i, j] = number * scale

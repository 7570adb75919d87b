"""Matrix products of FP16 that are rounded once: exact in double precision, in parts.

Numbers of FP16 are multiples of 2**-24. Double precision adds products without rounding where
their largest possible sum has at most 53 bits above their last place, in whatever order and
fused or not. Operands that are too wide for that are split in two parts, and each product of parts
is exact.
"""

import numpy as np
import torch
from numba import njit

from adagrain.models.dot_product import round_fixed

from .magnitude import absmax

__all__ = ["exact_product"]

#: Last place of FP16, and bits of double precision.
_LAST, _BITS = -24, 53

#: Where both operands are split, products of the parts have at most 40 bits.
_SPLIT = 2.0**-4

#: Terms of such products that double precision surely adds without rounding.
_TERMS = 1 << 13


def exact_product(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """The product of two finite matrices of FP16, each sum rounded once.

    Parameters
    ----------
    a : Tensor, shape (m, k)
        float16, finite.
    b : Tensor, shape (k, n)
        The same.

    Returns
    -------
    Tensor of float16, shape (m, n)
    """
    terms = (a.shape[1] - 1).bit_length()
    x, y = a.double(), b.double()
    ends = [int(torch.frexp(absmax(z.float())).exponent) for z in (a, b)]
    split = int(y.numel() < x.numel())  # of both operands the smaller one, if one has to be
    room = _BITS - terms - (ends[1 - split] - _LAST)  # bits that it, or a part of it, may have
    if ends[split] - _LAST <= room:
        return _to_half(x @ y, torch.zeros(1, 1, dtype=torch.float64))
    place = _LAST + room
    if ends[split] - place <= room:
        parts = _split((x, y)[split], 2.0**place)
        high, low = (x @ part if split else part @ y for part in parts)
        return _to_half(high, low)
    return _of_wide(x, y)


def _to_half(high: torch.Tensor, low: torch.Tensor) -> torch.Tensor:
    """The sum of two exact parts as FP16, rounded once."""
    odd = np.empty(high.shape, dtype=np.float32)
    _round_to_odd(high.numpy(), low.expand_as(high).numpy(), odd)
    return torch.from_numpy(odd).half()


@njit(cache=True, nogil=True)
def _round_to_odd(high, low, out):  # pragma: no cover - compiled
    """Round sums to the float32 beside them whose last bit is 1, where they are not float32.

    Rounding such a number to fewer bits is rounding the sum itself (Boldo and Melquiond, "When
    double rounding is odd", 2005). What is lost in adding the parts comes from Knuth's TwoSum.
    """
    bits = out.view(np.int32)
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            total = high[i, j] + low[i, j]
            part = total - high[i, j]
            lost = (high[i, j] - (total - part)) + (low[i, j] - part)
            near = np.float32(total)
            rest = (total - np.float64(near)) + lost
            out[i, j] = near + np.float32(0)
            if rest != 0 and bits[i, j] & 1 == 0:
                away = (rest > 0) == (near > 0)
                bits[i, j] += np.int32(1) if away else np.int32(-1)


def _of_wide(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    (a_high, a_low), (b_high, b_low) = (_split(matrix, _SPLIT) for matrix in (a, b))
    high = np.zeros((a.shape[0], b.shape[1]), dtype=np.int64)
    low = np.zeros_like(high)
    for start in range(0, a.shape[1], _TERMS):
        part = slice(start, start + _TERMS)
        outer = _integers(a_high[:, part] @ b_high[part], 8)
        middle = _integers(a_high[:, part] @ b_low[part], 28)
        middle += _integers(a_low[:, part] @ b_high[part], 28)
        high += outer + (middle >> 20)
        low += ((middle & 0xF_FFFF) << 20) + _integers(a_low[:, part] @ b_low[part], 48)
    words, _ = round_fixed(high, low)
    return torch.from_numpy(words.astype("<u2").view(np.float16))


def _split(matrix: torch.Tensor, place: float) -> tuple[torch.Tensor, torch.Tensor]:
    """Multiples of a power of two, and what is left."""
    high = (matrix * (1 / place)).trunc_().mul_(place)
    return high, matrix - high


def _integers(values: torch.Tensor, places: int) -> np.ndarray:
    return (values * 2.0**places).numpy().astype(np.int64)

"""The normalised variance of a channel group's input, which the precision controller is told."""

import numpy as np
import torch

from adagrain.models.interface.units.statistics import LARGEST_Q
from adagrain.models.statistics import EXPONENT_BIAS, FRACTION_BITS, Statistics, unbiased

from .magnitude import array_of, largest_of

__all__ = ["exponent_of", "normalised_variance_of"]

#: Bits below the square of a quantised element's last place, so that both numbers fill 32 bits.
_EXTRA = 2


def exponent_of(x: torch.Tensor) -> int:
    """The largest exponent of finite float32 elements, to be measured at; otherwise the largest."""
    return unbiased(int(largest_of(array_of(x)).view(np.int32).item()) >> 23)


def normalised_variance_of(found: Statistics) -> tuple[int, int] | None:
    """Variance of a tensor's elements, and the square of their largest magnitude.

    Both are in the same unit, which follows the largest exponent: a tensor that is multiplied by a
    power of two has the same two integers.

    Parameters
    ----------
    found : Statistics
        Of a pass at the tensor's own largest exponent.

    Returns
    -------
    tuple of (int, int) or None
        ``variance`` and ``square`` of :data:`~adagrain.models.interface.records.PrecisionUpdate`;
        None where an element is not finite, or all are 0, so that there is nothing to decide from.
    """
    if found.finite < found.count or found.zero == found.count:
        return None
    central = found.count * found.s2 - found.s1**2
    variance = (central << _EXTRA) // found.count**2
    largest = max(_quantised(bits, found.exponent) for bits in (found.minimum, found.maximum))
    return variance, largest**2 << _EXTRA


def _quantised(bits: int, exponent: int) -> int:
    """Magnitude of a float32 in units of the exponent's last place, rounded up, and clamped."""
    field, fraction = bits >> 23 & 0xFF, bits & 0x7F_FFFF
    significand = fraction | (1 << 23 if field else 0)
    shift = max(field, 1) - EXPONENT_BIAS - 23 - (exponent - EXPONENT_BIAS - FRACTION_BITS)
    return min(-(-significand >> -shift), LARGEST_Q)

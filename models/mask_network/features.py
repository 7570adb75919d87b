"""What the mask generation network sees of a region: nine numbers of INT8.

Six are those of the idea (seed 003): mean, variance, skewness and kurtosis of the activations, L2
norm of the gradient, progress of the training. Two tell what a keep-table is relative to, and of
how many elements it is. The last one is no feature of the region but the user's will: the bound,
the squared magnitude that is worth its price. All are logarithms, since tensors differ by orders
of magnitude; all follow exactly, by integers alone, from the sums that ``statistics`` finds, so
that they do not depend on anybody's floating-point logarithm.

=====  ====================================================================  ==============
place  feature                                                               steps
=====  ====================================================================  ==============
0      mean m with deviation s: sign of m times log2(1 + m²/s²)              8 a binade
1      variance of the activations: log2                                     2 a binade
2      skewness g: sign of g times log2(1 + g²)                              8 a binade
3      kurtosis over that of a normal distribution, 3: log2                  16 a binade
4      L2 norm of the gradient: log2                                         4 a binade
5      progress: log2(1 + passes)                                            8 a binade
6      headroom: log2 of the base's binade over the bound's root             8 a binade
7      elements: log2                                                        4 a binade
8      root of the bound: log2                                               4 a binade
=====  ====================================================================  ==============

Steps are rounded down, and clamped to ±127. What is unknown, because there are no activations or
they are not finite, is 0; the logarithm of 0 is -127.
"""

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from adagrain.models.interface.precision import LEVELS, Precision
from adagrain.models.statistics import EXPONENT_BIAS, FRACTION_BITS, Statistics

__all__ = [
    "FEATURES",
    "FEATURE_SCALE",
    "activation_features",
    "features",
    "gradient_feature",
    "with_bound_times",
]

#: Their names, in order; the first six are those of the idea.
FEATURES = (
    *("mean", "variance", "skewness", "kurtosis", "gradient_norm", "progress"),
    *("headroom", "elements", "bound"),
)

#: What the network takes their steps to be multiples of: a power of two.
FEATURE_SCALE = 2.0**-5

_TOP = LEVELS[Precision.INT8]

#: Activations of which nothing is known.
_UNKNOWN = (0, 0, 0, 0)


def activation_features(found: Statistics | None) -> tuple[int, int, int, int]:
    """Mean, variance, skewness and kurtosis.

    Parameters
    ----------
    found : Statistics or None
        Of a pass over the activations with powers up to 4.

    Returns
    -------
    tuple of int
        Unknown ones if there are none, or one of them is not finite.
    """
    if found is None or not found.valid:
        return _UNKNOWN
    n, c2, c3, c4 = found.finite, *(found.central(power) for power in (2, 3, 4))
    if not c2:
        return _clamped(_TOP * _sign(found.s1)), -_TOP, 0, 0
    variance = _log2(c2, n**2, 2) + 2 * 2 * _unit(found)
    return (
        _clamped(_sign(found.s1) * _log2(n * found.s2, c2, 8)),
        _clamped(variance),
        _clamped(_sign(c3) * _log2(c2**3 + c3**2, c2**3, 8)),
        _clamped(_log2(c4, 3 * c2**2, 16)),
    )


def gradient_feature(found: Statistics) -> int:
    """The L2 norm, of a pass over a gradient.

    Parameters
    ----------
    found : Statistics
        Elements that are not finite count for nothing.
    """
    if not found.s2:
        return -_TOP
    return _clamped(_log2(found.s2, 1, 2) + 4 * _unit(found))


def features(
    activations: Sequence[int],
    gradient: int,
    passes: int,
    elements: int,
    base: int,
    bound: float,
) -> np.ndarray:
    """All features of a region.

    Parameters
    ----------
    activations : sequence of int
        As :func:`activation_features` gives them.
    gradient : int
        As :func:`gradient_feature` gives it.
    passes : int
        Backward passes so far.
    elements : int
        At least 1.
    base : int
        Largest exponent of what is masked, biased.
    bound : float
        The squared magnitude that is worth its price, above 0.

    Returns
    -------
    ndarray of int8, (9,)

    Raises
    ------
    ValueError
        If a number is out of its range.
    """
    if passes < 0:
        raise ValueError(f"passes must be at least 0, not {passes}")
    if elements < 1:
        raise ValueError(f"elements must be at least 1, not {elements}")
    if not 0 <= base <= 2 * EXPONENT_BIAS:
        raise ValueError(f"base must be from 0 to {2 * EXPONENT_BIAS}, not {base}")
    if not 0 < bound < math.inf:
        raise ValueError(f"bound must be finite and above 0, not {bound:g}")
    exact = Fraction(bound)
    headroom = _log2(exact.denominator, exact.numerator, 4)
    rest = (
        _log2(1 + passes, 1, 8),
        8 * (base - EXPONENT_BIAS) + headroom,
        _log2(elements, 1, 4),
        _log2(exact.numerator, exact.denominator, 2),
    )
    return np.array([*activations, gradient, *map(_clamped, rest)], dtype=np.int8)


def with_bound_times(seen: np.ndarray, octaves: int) -> np.ndarray:
    """Features of other bounds: those that are larger by a power of two.

    Parameters
    ----------
    seen : ndarray of int8, (regions, 9)
        Features; those that are clamped stay so, or move from there.
    octaves : int
        That power.
    """
    moved = seen.astype(np.int64)
    moved[:, FEATURES.index("headroom")] -= 4 * octaves
    moved[:, FEATURES.index("bound")] += 2 * octaves
    return moved.clip(-_TOP, _TOP).astype(np.int8)


def _unit(found: Statistics) -> int:
    """Logarithm of the value of the quantised 1."""
    return found.exponent - EXPONENT_BIAS - FRACTION_BITS


def _log2(numerator: int, denominator: int, steps: int) -> int:
    """Logarithm of a quotient of positive integers, in so many steps a binade, rounded down."""
    above, below = numerator**steps, denominator**steps
    found = above.bit_length() - below.bit_length()
    reached = above >= below << found if found >= 0 else above << -found >= below
    return found if reached else found - 1


def _sign(value: int) -> int:
    return (value > 0) - (value < 0)


def _clamped(value: int) -> int:
    return min(max(value, -_TOP), _TOP)

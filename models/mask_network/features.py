"""Features that the mask generation network sees of a region: nine numbers of INT8.

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
from bisect import bisect_right
from functools import lru_cache

import numpy as np
from numba import njit

from adagrain.models.interface.precision import LEVELS, Precision
from adagrain.models.statistics import EXPONENT_BIAS, FRACTION_BITS, Statistics

from .sampling import Sampled

__all__ = [
    "FEATURES",
    "FEATURE_SCALE",
    "activation_features",
    "at_bound",
    "elements_features",
    "features",
    "fill_features",
    "gradient_feature",
    "move_features",
    "moves_of",
    "progress_feature",
]

#: Their names, in order; the first six are those of the idea.
FEATURES = (
    *("mean", "variance", "skewness", "kurtosis", "gradient_norm", "progress"),
    *("headroom", "elements", "bound"),
)

#: Places of those that follow from what is masked now, and from the bound.
_PROGRESS, _HEADROOM, _ELEMENTS, _BOUND = range(5, 9)

#: What the network takes their steps to be multiples of: a power of two.
FEATURE_SCALE = 2.0**-5

_TOP = LEVELS[Precision.INT8]

#: The smallest float64 that are not below 2 to the power of 1/4, 2/4 and 3/4.
_QUARTERS = [math.ldexp(1 + math.isqrt(math.isqrt(1 << 4 * 52 + k)), -52) for k in (1, 2, 3)]

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


def gradient_feature(found: Statistics | Sampled, elements: int) -> int:
    """The L2 norm, of a pass over a gradient, or over elements of it that stand for all.

    Parameters
    ----------
    found : Statistics or Sampled
        Elements that are not finite count for nothing.
    elements : int
        How many the gradient has.
    """
    if not found.s2:
        return -_TOP
    return _clamped(_log2(found.s2 * elements, found.count, 2) + 4 * _unit(found))


def features(
    surveyed: np.ndarray,
    passes: int,
    elements: tuple[int, ...],
    bases: np.ndarray,
) -> np.ndarray:
    """All features of some regions at a bound of 1, as :func:`at_bound` takes them.

    Parameters
    ----------
    surveyed : ndarray of int64, (regions, 5)
        As :func:`activation_features` and :func:`gradient_feature` give them.
    passes : int
        Backward passes so far.
    elements : tuple of int, (regions,)
        At least 1 each.
    bases : ndarray of int64, (regions,)
        Largest exponents of what is masked, biased.

    Returns
    -------
    ndarray of int64, (regions, 9)
        Not clamped yet, but those that were given.

    Raises
    ------
    ValueError
        If a number is out of its range.
    """
    known = surveyed, progress_feature(passes), bases, elements_features(elements)
    found = np.empty((len(bases), len(FEATURES)), dtype=np.int64)
    if not fill_features(*known, found):
        raise ValueError(f"bases must be from 0 to {2 * EXPONENT_BIAS}, not {bases.tolist()}")
    return found


def at_bound(
    known: np.ndarray, bound: float, octaves: int = 0, shown: int = len(FEATURES) - 1
) -> np.ndarray:
    """Features of some regions at a bound, or at one that is larger by a power of two.

    Parameters
    ----------
    known : ndarray of int64, (regions, 9)
        As :func:`features` gives them.
    bound : float
        The squared magnitude that is worth its price, above 0.
    octaves : int
        This power.
    shown : int
        How many features the network sees, from the first one on, and the bound; others are 0.

    Returns
    -------
    ndarray of int8, (regions, 9)

    Raises
    ------
    ValueError
        If the bound is out of its range.
    """
    seen = np.empty(known.shape, dtype=np.int8)
    move_features(known, moves_of(bound), octaves, shown, seen)
    return seen


def moves_of(bound: float) -> tuple[int, int]:
    """Summands of headroom and bound, as :func:`at_bound` adds them."""
    if not 0 < bound < math.inf:
        raise ValueError(f"bound must be finite and above 0, not {bound:g}")
    fraction, exponent = math.frexp(bound)
    quarters = 4 * (exponent - 1) + bisect_right(_QUARTERS, 2 * fraction)
    is_power = fraction == 0.5
    return -quarters - (not is_power), quarters // 2


def progress_feature(passes: int) -> int:
    """Progress behind so many passes, at least 0."""
    if passes < 0:
        raise ValueError(f"passes must be at least 0, not {passes}")
    return _log2(1 + passes, 1, 8)


@lru_cache(maxsize=16)
def elements_features(elements: tuple[int, ...]) -> np.ndarray:
    """Logarithms of elements, as :func:`features` takes them; int64, (regions,)."""
    if (least := min(elements)) < 1:
        raise ValueError(f"elements must be at least 1, not {least}")
    return np.array([_log2(own, 1, 4) for own in elements], dtype=np.int64)


@njit(cache=True, nogil=True)
def fill_features(surveyed, progress, bases, logarithms, found):  # pragma: no cover - compiled
    """:func:`features` in compiled code; False where a base is out of its range."""
    for region in range(bases.size):
        if not 0 <= bases[region] <= 2 * EXPONENT_BIAS:
            return False
        found[region, :_PROGRESS] = surveyed[region]
        found[region, _PROGRESS] = progress
        found[region, _HEADROOM] = 8 * (bases[region] - EXPONENT_BIAS)
        found[region, _ELEMENTS] = logarithms[region]
        found[region, _BOUND] = 0
    return True


@njit(cache=True, nogil=True)
def move_features(known, moves, octaves, shown, seen):  # pragma: no cover - compiled
    """:func:`at_bound` in compiled code, given :func:`moves_of` the bound of octave 0."""
    by_place = np.zeros(known.shape[1], dtype=np.int64)
    by_place[_HEADROOM] = moves[0] - 4 * octaves
    by_place[_BOUND] = moves[1] + 2 * octaves
    for region in range(known.shape[0]):
        for place in range(known.shape[1]):
            value = min(max(known[region, place] + by_place[place], -_TOP), _TOP)
            seen[region, place] = value if place < shown or place == _BOUND else 0


def _unit(found: Statistics | Sampled) -> int:
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

"""The averages of the Region Manager, in which every update weighs the same.

Energies and losses fall by orders of magnitude in a run. An average of them is ruled by its
oldest entries for hundreds of updates, and so is a quotient of two such averages. Averaged are
therefore what an update says of itself alone, bounded, and logarithms.
"""

__all__ = [
    "ALPHA_BITS",
    "ALPHA_SHIFTS",
    "FAST",
    "LOGARITHM_BITS",
    "SLOW",
    "TIME_SHIFT",
    "agreed",
    "averaged",
    "fall",
    "logarithm",
    "normalised",
    "quotient",
]

#: Shifts of averages of logarithms and of times. Each stands for 2**shift updates.
FAST, SLOW, TIME_SHIFT = 3, 6, 4

#: Shift of α's average, by the updates that are in it, the last one for all further: early noise
#: need not be forgotten, because the first updates weigh about the same.
ALPHA_SHIFTS = (0, 1, 2, 2, 3, 3, 3, 4)

#: Fraction bits of α's average that are not part of α.
ALPHA_BITS = ALPHA_SHIFTS[-1]

#: Fraction bits of a logarithm.
LOGARITHM_BITS = 10


def averaged(average: int, x: int, shift: int) -> int:
    """``average + x − (average >> shift)``: ``shift`` more fraction bits than x, no dead zone."""
    return average + x - (average >> shift)


def agreed(alpha: int, agreement: int, updates: int) -> int:
    """α's average, which holds so many updates, with one more update's agreement."""
    shift = ALPHA_SHIFTS[updates]
    return alpha - (alpha >> shift) + (agreement << ALPHA_BITS - shift)


def quotient(a: int, n: int, workers: int) -> int:
    """One update's agreement, ``min(65535, ⌊N·W·2¹⁶ / A⌋)``, of energies normalised to 32 bits."""
    a, n = normalised(a, n, 32)
    if n * workers >= a:
        return 65535 if n else 0
    return (n * workers << 16) // a


def logarithm(x: int) -> int:
    """Base 2, in octaves with 10 fraction bits: exact for powers of two, straight in between.

    0 counts as 1. It is never too large, and too small by less than 0.088.
    """
    place = max(0, x.bit_length() - 1)
    fraction = (x << LOGARITHM_BITS >> place) & ((1 << LOGARITHM_BITS) - 1)
    return (place << LOGARITHM_BITS) + fraction


def fall(fast: int, slow: int) -> int:
    """Octaves by which the fast average of logarithms is below the slow one, Q5.10, saturated.

    Only the low 32 bits of the averages count, which is all that they may have.
    """
    low = (1 << 32) - 1
    octaves = ((slow & low) - (fast << (SLOW - FAST) & low)) >> SLOW
    return max(-32768, min(32767, octaves))


def normalised(x: int, y: int, bits: int) -> tuple[int, int]:
    """Both numbers shifted right together until both are below 2**bits."""
    shift = max(0, (x | y).bit_length() - bits)
    return x >> shift, y >> shift

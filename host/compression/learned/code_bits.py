"""Bits of an element in each bin, in the code in force: that of the last frame."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numba import njit

from adagrain.models.codec.dissection import dissect
from adagrain.models.interface.codec import BINS, CLASSES
from adagrain.models.interface.units import statistics

__all__ = ["CodeBits", "bits_at", "code_bits", "together"]

#: Bits of an element that no code is known for.
_DENSE = 16.0


class CodeBits(NamedTuple):
    """Those of a region, or of several, with a dimension more.

    Members
    -------
    base : int or ndarray of int
        The exponent from which the codec counts its bins.
    bits : ndarray of float64, (32,)
        Of an element in each of them, sign and mantissa included.
    """

    base: Any
    bits: np.ndarray


_UNKNOWN = CodeBits(0, np.full(BINS, _DENSE))


def code_bits(frame: bytes, elements: int) -> list[CodeBits]:
    """Bits of a frame's codes, by region.

    Code lengths are taken to be those that suit the gaps: a gap's class has a probability of 2 to
    the power of minus its code's length. A bin without a code costs as much as the costliest that
    has one: tables are made for each frame, and would give it one if it was sent.

    Parameters
    ----------
    frame : bytes
        Of this worker.
    elements : int
        That it has at most.
    """
    parts = dissect(frame, (), elements)
    tables = [_of_table(own, parts.mantissa_bits) for own in parts.lengths]
    rows = zip(parts.bases.tolist(), parts.slots.tolist(), strict=True)
    return [CodeBits(base, tables[slot]) for base, slot in rows]


def bits_at(known: CodeBits, bases: np.ndarray) -> np.ndarray:
    """Bits in the bins of masks, (regions, 64).

    Parameters
    ----------
    known : CodeBits
        Of all regions, as :func:`together` has them.
    bases : ndarray of int, (regions,)
        Exponents from which the masks count.
    """
    places = np.arange(statistics.BINS) + 2 * (known.base - bases)[:, None]
    rows = np.arange(len(bases))[:, None]
    return known.bits[rows, np.minimum(np.maximum(places, 0), BINS - 1)]


def together(known: Sequence[CodeBits | None]) -> CodeBits:
    """Those of several regions, bases (regions,) and bits (regions, 32); 16 where none is known."""
    all_of_them = [_UNKNOWN if own is None else own for own in known]
    bases, bits = zip(*all_of_them, strict=True)
    return CodeBits(np.array(bases), np.stack(bits))


def _of_table(lengths: np.ndarray, mantissa_bits: int) -> np.ndarray:
    bits = np.full(BINS, _DENSE)
    _expect(lengths, mantissa_bits, bits)
    return bits


@njit(cache=True, nogil=True)
def _expect(lengths, mantissa_bits, bits):  # pragma: no cover - compiled
    """Bits of each bin on average over the classes of gaps; left as they are if none has a code."""
    whole, most = np.zeros(BINS), 0.0
    for place in range(BINS):
        taken = 0.0
        for kind in range(CLASSES):
            length = lengths[kind * BINS + place]
            if length > 0:
                likely = 1.0 / (1 << length)
                behind = max(kind - 1, 0) + 1 + max(mantissa_bits - 1, 0)
                whole[place] += likely
                taken += likely * (length + behind)
        if whole[place] > 0:
            bits[place] = taken / whole[place]
            most = max(most, bits[place])
    for place in range(BINS):
        if whole[place] == 0 and most > 0:
            bits[place] = most

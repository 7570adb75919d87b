"""What an element of each bin takes, in the code in force: that of the last frame."""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from adagrain.models.codec.dissection import dissect
from adagrain.models.codec.table import CodeTable
from adagrain.models.interface.codec import BINS, CLASSES, ESCAPE
from adagrain.models.interface.units import statistics

__all__ = ["CodeBits", "bits_at", "code_bits"]

#: Bits of an element that no code is known for.
_DENSE = 16.0


class CodeBits(NamedTuple):
    """Those of a region.

    Members
    -------
    base : int
        The exponent from which the codec counts its bins.
    bits : ndarray of float64, (32,)
        Of an element in each of them, sign and mantissa included.
    """

    base: int
    bits: np.ndarray


def code_bits(frame: bytes, elements: int) -> list[CodeBits]:
    """What the codes of a frame take, by region.

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
    tables = [_of_table(own, parts.mantissa_bits) for own in parts.tables]
    rows = zip(parts.bases.tolist(), parts.slots.tolist(), strict=True)
    return [CodeBits(base, tables[slot]) for base, slot in rows]


def bits_at(known: Iterable[CodeBits | None], bases: Iterable[int]) -> np.ndarray:
    """Bits in the bins of masks, (regions, 64); 16, where there is no code yet.

    Parameters
    ----------
    known : iterable of CodeBits or None
        By region.
    bases : iterable of int
        Exponents from which the masks count.
    """
    rows = []
    for own, base in zip(known, bases, strict=True):
        bits = np.full(BINS, _DENSE) if own is None else own.bits
        first = 0 if own is None else 2 * (own.base - base)
        rows.append(bits[np.clip(np.arange(statistics.BINS) + first, 0, BINS - 1)])
    return np.array(rows)


def _of_table(table: CodeTable | None, mantissa_bits: int) -> np.ndarray:
    if table is None:
        return np.full(BINS, _DENSE)
    lengths = np.frombuffer(table.lengths, dtype=np.uint8)[:ESCAPE].reshape(CLASSES, BINS)
    likely = np.where(lengths > 0, 0.5 ** lengths.astype(float), 0.0)
    behind = np.maximum(np.arange(CLASSES) - 1, 0) + 1 + max(mantissa_bits - 1, 0)
    whole = likely.sum(axis=0)
    bits = (likely * (lengths + behind[:, None])).sum(axis=0) / np.where(whole > 0, whole, 1.0)
    return np.where(whole > 0, bits, bits.max() or _DENSE)

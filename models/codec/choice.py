"""Choice of the tables that a frame uses, and of the one of each region."""

from collections.abc import Sequence

import numpy as np

from adagrain.models.arguments import whole
from adagrain.models.interface.codec import CODED_FORMATS
from adagrain.models.interface.formats import FORMATS

from .choice_kernel import build, choose, deal
from .counts import checked_counts
from .defaults import DEFAULT_TABLES
from .parts import lengths_of
from .table import CodeTable

__all__ = ["build_tables", "choose_slots", "choose_tables"]

#: Times that regions are dealt out anew to the tables that were built of them.
_ROUNDS = 3

#: Bits of a count, of which the kernel takes 32 with a sign.
_COUNT_BITS = 31

#: Mantissa bits of the coded format that has most.
_MOST_MANTISSA = max(FORMATS[code].mantissa_bits for code in CODED_FORMATS)

_DEFAULTS = lengths_of([*DEFAULT_TABLES.values()])


def choose_slots(
    counts: np.ndarray, tables: Sequence[CodeTable], mantissa_bits: int
) -> tuple[np.ndarray, int]:
    """For each region the slot of the table that takes fewer bits, and all bits that they take.

    Parameters
    ----------
    counts : ndarray of int64, (regions, 417)
        How often each symbol comes, less than 2^31 times.
    tables : sequence of CodeTable
        One or two.
    mantissa_bits : int
        Of each coded element.
    """
    lengths = np.frombuffer(b"".join(table.lengths for table in tables), dtype=np.uint8)
    slots = np.zeros(len(counts), dtype=np.uint8)
    return slots, deal(counts, lengths.reshape(len(tables), -1), mantissa_bits, slots)


def build_tables(counts: np.ndarray, mantissa_bits: int = 7) -> list[CodeTable]:
    """One table or two, to be carried by the frame of these regions: those that make it shortest.

    Two are built for two groups of regions, and these dealt to the one that suits them better, in
    turns (as Lloyd's k-means); often not quite the shortest.

    Parameters
    ----------
    counts : ndarray of int64, (regions, 417)
        How often each symbol comes, as :func:`adagrain.models.codec.histogram` gives it.
    mantissa_bits : int
        Of each coded element.

    Raises
    ------
    TypeError, ValueError
        If there are not 417 counts for each region, one is no integer, negative or above 2^48, or
        ``mantissa_bits`` is no whole number, or more than any format has.
    """
    own, kept = checked_counts(counts, 2), whole("mantissa_bits", mantissa_bits, _MOST_MANTISSA)
    built = build(_scaled(own), kept, _ROUNDS)
    return [CodeTable(lengths.tobytes()) for lengths in built]


def choose_tables(counts: np.ndarray, mantissa_bits: int) -> tuple[list[CodeTable], np.ndarray]:
    """The built tables, or the defaults where carrying any takes more; and each region's slot."""
    own, lengths, slots = choose(counts, mantissa_bits, _ROUNDS, _DEFAULTS)
    if own:
        return [CodeTable(table.tobytes()) for table in lengths], slots
    return [*DEFAULT_TABLES.values()], slots


def _scaled(counts: np.ndarray) -> np.ndarray:
    """Counts below 2^31 in about the same proportions; a symbol that comes still does."""
    shift = max(int(counts.max(initial=0)).bit_length() - _COUNT_BITS, 0)
    return np.maximum(counts >> shift, counts > 0) if shift else counts

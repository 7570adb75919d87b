"""Tables of the code: lengths, the canonical codes that follow from them, and look-ups."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from numbers import Integral

import numpy as np

from adagrain.models.arguments import whole
from adagrain.models.interface.codec import (
    ESCAPE,
    FIRST_AGREED,
    LONGEST_CODE,
    SYMBOLS,
    TableNumber,
)
from adagrain.models.interface.codec_tables import DEFAULT_LENGTHS

from .canonical import canonical_codes, encoding, measures
from .choice_kernel import best_lengths, carried
from .counts import checked_counts
from .errors import CodecError

__all__ = ["CodeTable", "agreed", "build_table"]


#: What may be added to each count, at most.
_MOST_FLOOR = 1 << 32

_DEFAULTS = {int(number): lengths for number, lengths in DEFAULT_LENGTHS.items()}


@dataclass(frozen=True)
class CodeTable:
    """Code lengths of all symbols.

    Parameters
    ----------
    lengths : bytes
        Of the 417 symbols, the escape last: 0 where a symbol has no code, 12 at most. They fill
        the code space, and the escape's is the largest.
    number : int
        ``TableNumber.CARRIED``, or the number by which both sides know the table.

    Raises
    ------
    CodecError
        If the lengths are no such code.
    TypeError
        If the lengths are no bytes, or the number is no whole number.
    ValueError
        If the number is not one that a table of these lengths may have.
    """

    lengths: bytes
    number: int = TableNumber.CARRIED

    def __post_init__(self) -> None:
        if not isinstance(self.lengths, bytes):
            raise TypeError(f"lengths must be bytes, not of type {type(self.lengths).__name__}")
        if isinstance(self.number, bool) or not isinstance(self.number, Integral):
            raise TypeError(f"number of a table must be a whole number, not {self.number!r}")
        if not TableNumber.CARRIED <= self.number <= 0xFF:
            raise ValueError(f"number of a table must be from 1 to 255, not {self.number}")
        if TableNumber.NARROW < self.number < FIRST_AGREED:
            raise ValueError(
                f"number of an agreed table must be from {FIRST_AGREED} to 255, not {self.number}"
            )
        if self.number in _DEFAULTS and self.lengths != _DEFAULTS[self.number]:
            raise ValueError(
                f"table {self.number} must be the default one; others are carried, or have numbers "
                f"from {FIRST_AGREED} to 255"
            )
        if len(self.lengths) != SYMBOLS:
            raise CodecError(f"table must have {SYMBOLS} code lengths, not {len(self.lengths)}")
        longest, filled = measures(self._lengths)
        if longest > LONGEST_CODE:
            raise CodecError(f"code lengths must be from 0 to {LONGEST_CODE}, not {longest}")
        if self.lengths[ESCAPE] != longest:
            raise CodecError(
                f"the escape's code must be as long as the longest, {longest} bits, "
                f"not {self.lengths[ESCAPE]}"
            )
        if filled != 1 << LONGEST_CODE:
            raise CodecError(
                f"codes must fill the code space, {1 << LONGEST_CODE} of 12 bits, not {filled}"
            )

    @cached_property
    def codes(self) -> np.ndarray:
        """The codes, uint16: by length and then by symbol, each is the one before it plus 1."""
        return canonical_codes(self._lengths)

    @cached_property
    def encoding(self) -> np.ndarray:
        """By symbol, uint16: the code, and its length in the lower 4 bits."""
        return encoding(self._lengths)

    @cached_property
    def decoding(self) -> np.ndarray:
        """By the next 12 bits, uint16: the symbol, and its code's length in the lower 4 bits."""
        found = np.empty(1 << LONGEST_CODE, dtype=np.uint16)
        for symbol in np.flatnonzero(self._lengths).tolist():
            free = LONGEST_CODE - self.lengths[symbol]
            first = int(self.codes[symbol]) << free
            found[first : first + (1 << free)] = symbol << 4 | self.lengths[symbol]
        return found

    @property
    def _lengths(self) -> np.ndarray:
        return np.frombuffer(self.lengths, dtype=np.uint8)

    @cached_property
    def carried(self) -> bytes:
        """The table as a frame carries it."""
        return carried(self._lengths).tobytes()


def agreed(tables: Iterable[CodeTable]) -> dict[int, CodeTable]:
    """Tables by the number that both sides know them by; those that frames carry have none.

    Raises
    ------
    TypeError
        If one is no table.
    ValueError
        If two that are not equal have the same number.
    """
    found: dict[int, CodeTable] = {}
    for table in tables:
        if not isinstance(table, CodeTable):
            raise TypeError(f"tables must be of CodeTable, not {table!r}")
        if table.number != TableNumber.CARRIED and found.setdefault(table.number, table) != table:
            raise ValueError(f"tables must have a number each, not two of them {table.number}")
    return found


def build_table(
    counts: np.ndarray, *, number: int = TableNumber.CARRIED, floor: int = 0
) -> CodeTable:
    """The best table for symbols that come so often.

    Parameters
    ----------
    counts : ndarray of int64, (417,)
        How often each comes. One that does not come has no code, but the escape always has one.
    number : int
        As that of :class:`CodeTable`.
    floor : int
        What is added to each count, at least 0: with 1 or more every symbol has a code, for tensors
        that are yet to come.

    Raises
    ------
    TypeError, ValueError
        If there are not 417 counts, or one or ``floor`` is no integer, negative, or too large: a
        count above 2^48, ``floor`` above 2^32.
    """
    weights = checked_counts(counts, 1) + whole("floor", floor, _MOST_FLOOR)
    return CodeTable(best_lengths(weights).tobytes(), number)

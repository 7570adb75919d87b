"""The precisions between which a slice switches, and how their numbers are packed into words."""

import enum
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from .formats import FORMATS, ElementFormat, FormatCode

__all__ = [
    "INTEGERS",
    "LEVELS",
    "WORD_BITS",
    "Operation",
    "Precision",
    "check_precisions",
    "names",
    "packed",
    "precision_of",
    "unpacked",
]

#: Bits of the words in which numbers are packed, little end first.
WORD_BITS = 32


class Precision(enum.IntEnum):
    """Reading of a word: as floating-point numbers, or as integers of two's complement."""

    FP32 = 0
    FP16 = 1
    INT8 = 2
    INT4 = 3

    @property
    def bits(self) -> int:
        """Width of a number."""
        return int(self.name[-2:].lstrip("PT"))

    @property
    def lanes(self) -> int:
        """Numbers in a word."""
        return WORD_BITS // self.bits

    @property
    def integer(self) -> bool:
        """Its numbers are integers."""
        return self.name.startswith("INT")

    @property
    def fmt(self) -> ElementFormat:
        """Its floating-point format.

        Raises
        ------
        ValueError
            If its numbers are integers.
        """
        if self.integer:
            raise ValueError(f"precision must be a floating-point one, not {self.name}")
        return FORMATS[FormatCode[self.name]]


#: Those whose numbers are integers.
INTEGERS = tuple(precision for precision in Precision if precision.integer)


#: Largest number of each that a tensor is scaled to: numbers are as many above 0 as below.
LEVELS = {Precision.INT8: 127, Precision.INT4: 7}


class Operation(enum.IntEnum):
    """Operation of a slice on two floating-point numbers; integers are always multiplied."""

    MULTIPLY = 0
    ADD = 1


def check_precisions(precisions: tuple[Precision, ...]) -> None:
    """Make sure that there are units for these precisions together.

    Raises
    ------
    TypeError
        If they are no tuple of :class:`Precision`, as plain integers are none.
    ValueError
        If there are no such units.
    """
    if type(precisions) is not tuple or any(type(each) is not Precision for each in precisions):
        raise TypeError(f"precisions must be a tuple of Precision, not {precisions!r:.60}")
    if precisions not in (tuple(Precision), INTEGERS):
        every, integers = names(Precision), names(INTEGERS)
        raise ValueError(f"precisions must be {every}, or {integers}, not {names(precisions)}")


def precision_of(precision: Precision | str, name: str = "precision") -> Precision:
    """A precision by its name; ``name`` is what it is for, in messages.

    Raises
    ------
    ValueError
        If there is no such precision.
    """
    if isinstance(precision, Precision):
        return precision
    if not isinstance(precision, str) or precision not in Precision.__members__:
        raise ValueError(f"{name} must be one of {names(Precision)}, not {precision!r:.60}")
    return Precision[precision]


def names(precisions: Iterable[Precision]) -> str:
    """Precisions as people write them."""
    return ", ".join(precision.name for precision in precisions) or "none"


def unpacked(words: NDArray[np.int64], precision: Precision) -> NDArray[np.int64]:
    """The numbers in words.

    Parameters
    ----------
    words : array of int64, shape (...)
        Words, as unsigned numbers.

    Returns
    -------
    array of int64, shape (..., lanes)
        Bits of floating-point numbers, or values of integers.
    """
    places = np.arange(precision.lanes, dtype=np.int64) * precision.bits
    fields = np.asarray(words, dtype=np.int64)[..., None] >> places & ((1 << precision.bits) - 1)
    if precision.integer:
        fields = fields - (fields >> (precision.bits - 1) << precision.bits)
    return fields


def packed(numbers: NDArray[np.int64], precision: Precision) -> NDArray[np.int64]:
    """Words that hold numbers; the inverse of :func:`unpacked`.

    Parameters
    ----------
    numbers : array of int64, shape (..., lanes)
        Bits of floating-point numbers, or values of integers.

    Raises
    ------
    ValueError
        If the last axis does not fill a word.
    """
    if numbers.shape[-1] != precision.lanes:
        raise ValueError(
            f"numbers must come by {precision.lanes} to a word of {precision.name}, "
            f"not {numbers.shape[-1]}"
        )
    places = np.arange(precision.lanes, dtype=np.int64) * precision.bits
    return ((numbers & ((1 << precision.bits) - 1)) << places).sum(axis=-1)

"""Tiles of a matrix product from packed operands: the golden model of ``hdl/granularity_unit``.

A tile has up to eight rows of ``a`` and as many columns of ``b`` as there are slices. Both lie in
operand memories, packed in 32-bit words at their precision: those of ``a`` word by word of its
rows (all rows' first words, then all second words, …), those of ``b`` column by column, a memory
for each slice. A sum may go on over several runs, so that operands that do not fit come in blocks.

Sums that have ended are sent as they are; or, where the run asks for it, each times a power of two
that its slice has, in any precision, the numbers of a row packed in words.
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from adagrain.models.arithmetic.float import Rounded
from adagrain.models.dot_product import EXACT_PRODUCTS, dot
from adagrain.models.interface.precision import Precision
from adagrain.models.rescale import packed_rows, rescale

__all__ = [
    "MAX_SUM",
    "ROWS",
    "OperandMemory",
    "RunError",
    "TileModel",
    "TileResult",
    "row_results",
    "row_words",
]

#: Rows of a tile: as many sums as hide the latency of an adder.
ROWS = 8

#: Words of a sum of FP16, over all runs.
MAX_SUM = EXACT_PRODUCTS // Precision.FP16.lanes


def row_words(slices: int, to: Precision) -> int:
    """Words that a row of so many numbers takes."""
    return -(-slices // to.lanes)


def row_results(run: Mapping[str, int], slices: int) -> int:
    """Results of each row of a run on so many slices."""
    return row_words(slices, Precision(run["to"])) if run["scaled"] else slices


class RunError(ValueError):
    """A run was asked for that cannot be; ``started`` tells whether a sum is missing to go on."""

    def __init__(self, message: str, *, started: bool = True) -> None:
        super().__init__(message)
        self.started = started


class TileResult(NamedTuple):
    """An element of a tile, or packed ones: a word, and the flags that are raised for it."""

    word: int
    flags: int


class OperandMemory:
    """Words of the operands: first the memory of ``a``, then those of the slices.

    Parameters
    ----------
    slices : int
        Number of slices.
    words : int
        Words of each memory.
    """

    def __init__(self, slices: int, words: int) -> None:
        self.words = words
        self._content = np.zeros((slices + 1, words), dtype=np.int64)

    def write(self, first: int, values: np.ndarray) -> None:
        """Replace words from address ``first`` on, across memories.

        Raises
        ------
        ValueError
            If they do not fit.
        """
        content = self._content.reshape(-1)
        if not 0 < len(values) <= len(content) - first:
            raise ValueError(f"words must be 1 to {len(content) - first} from {first} on")
        content[first : first + len(values)] = values

    def a(self, first: int, words: int, rows: int) -> np.ndarray:
        """Words of a tile's rows, of shape (rows, words)."""
        return self._content[0, first : first + words * rows].reshape(words, rows).T

    def b(self, first: int, words: int) -> np.ndarray:
        """Words of a tile's columns, of shape (slices, words)."""
        return self._content[1:, first : first + words]


class TileModel:
    """A granularity unit's arithmetic.

    Parameters
    ----------
    slices : int
        Number of slices, which is that of a tile's columns.
    words : int
        Words of each operand memory.

    Attributes
    ----------
    exponents : array of int64, shape (slices,)
        Of the power of two with which each slice's sums are multiplied, in runs that are
        ``scaled``; 0 at first.
    """

    def __init__(self, slices: int, words: int) -> None:
        self.memory = OperandMemory(slices, words)
        self.exponents = np.zeros(slices, dtype=np.int64)
        self._sum: tuple[Precision, int] | None = None
        self._a: list[np.ndarray] = []
        self._b: list[np.ndarray] = []

    def run(self, run: Mapping[str, int]) -> list[TileResult]:
        """Multiply what lies in the memories.

        Parameters
        ----------
        run : mapping
            Fields of :data:`adagrain.models.interface.records.TileRun`.

        Returns
        -------
        list of TileResult
            Row by row; empty unless the sums end.

        Raises
        ------
        RunError
            If operands lie outside the memories, there are no rows, a sum of FP16 becomes too
            long, or no sum of this precision and as many rows is under way to go on with.
        """
        rows, words = run["rows"], run["words"]
        a_end, b_end = run["a_first"] + words * rows, run["b_first"] + words
        if not (1 <= rows <= ROWS and words and max(a_end, b_end) <= self.memory.words):
            raise RunError(f"operands must lie in {self.memory.words} words, {ROWS} rows at most")
        precision = Precision(run["mode"])
        if not run["first"] and self._sum != (precision, rows):
            raise RunError("a sum of this precision and rows must be under way", started=False)
        length = words + (0 if run["first"] else sum(block.shape[1] for block in self._b))
        if precision is Precision.FP16 and length > MAX_SUM:
            raise RunError(f"a sum of FP16 must have at most {MAX_SUM} words, not {length}")
        if run["first"]:
            self._a, self._b = [], []
        self._a.append(self.memory.a(run["a_first"], words, rows).copy())
        self._b.append(self.memory.b(run["b_first"], words).copy())
        self._sum = None if run["last"] else (precision, rows)
        if not run["last"]:
            return []
        sums = self._sums(precision)
        if run["scaled"]:
            sums = self._scaled(sums, precision, Precision(run["to"]))
        return [TileResult(*map(int, row)) for row in zip(*map(np.ravel, sums), strict=True)]

    def keep(self, run: Mapping[str, int], results: list[TileResult]) -> None:
        """Write the results of a run into the memory of ``a``, as operands lie there.

        Raises
        ------
        ValueError
            If they do not fit.
        """
        words = np.array([result.word for result in results]).reshape(run["rows"], -1)
        if run["to_first"] + words.size > self.memory.words:
            raise ValueError(
                f"results must fit into {self.memory.words} words, not {words.size} from "
                f"{run['to_first']} on"
            )
        self.memory.write(run["to_first"], words.T.ravel())

    def _sums(self, precision: Precision) -> Rounded:
        """Of shape (rows, slices)."""
        a, b = np.concatenate(self._a, axis=1), np.concatenate(self._b, axis=1)
        pairs = np.repeat(a, len(b), axis=0), np.tile(b, (len(a), 1))
        words, flags = dot(*pairs, precision)
        return Rounded(words.reshape(len(a), -1), flags.reshape(len(a), -1))

    def _scaled(self, sums: Rounded, precision: Precision, to: Precision) -> Rounded:
        """Rows of packed numbers."""
        words, flags = rescale(sums.words, precision, self.exponents, to)
        return packed_rows(Rounded(words, flags | sums.flags), to)

"""A matrix product as commands: which operands are written when, and where results belong."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from adagrain.host.link.session import Request
from adagrain.models.granularity_unit import row_words
from adagrain.models.interface.precision import Precision
from adagrain.models.interface.records import pack, size
from adagrain.models.interface.units.granularity_unit import (
    ROWS,
    Destination,
    TileOpcode,
    TileResult,
    TileRun,
)

from .rescaling import Rescaling

__all__ = ["RECORD", "Job", "Load", "jobs"]

#: Rows of a job: so many that writing its columns anew costs little.
_JOB_ROWS = 128 * ROWS

#: A result.
RECORD = np.dtype([("word", "<u4"), ("flags", "u1")])


@dataclass(frozen=True)
class Load:
    """Words of the operand memories, from an address on.

    Parameters
    ----------
    address : int
        Of the first, over all memories: that of ``a`` comes first.
    words : array of uint32
        They may not leave a memory.
    """

    address: int
    words: np.ndarray


@dataclass(frozen=True)
class Job:
    """Rows of a product, and columns that lie in the operand memories together.

    Every job writes all that it needs, so that one that was interrupted can be done again.

    Parameters
    ----------
    a : array of int64, shape (m, words)
        The job's rows of ``a``, packed.
    b : array of int64, shape (n, words)
        The job's columns of ``b``, packed.
    row, start : int
        Number of the first row, and of the first column.
    precision : Precision
        How words are read.
    rescaling : Rescaling or None
        What the device makes of the sums.
    slices, operands : int
        As the device is configured.
    """

    a: np.ndarray
    b: np.ndarray
    row: int
    start: int
    precision: Precision
    rescaling: Rescaling | None
    slices: int
    operands: int

    def steps(self, destination: Destination) -> Iterator[Load | Request]:
        """Requests to the device, in order.

        Parameters
        ----------
        destination : Destination
            Where results go.
        """
        words = self.a.shape[1]
        if words <= self.operands // ROWS:
            yield from self._resident(words, destination)
        else:
            yield from self._in_blocks(words, destination)

    def _resident(self, words: int, destination: Destination) -> Iterator[Load | Request]:
        """All columns are loaded once, and as many tiles of rows at a time as there is room for."""
        yield from self._columns(slice(None))
        tiles, held = self._row_tiles(), self.operands // (ROWS * words)
        for at in range(0, len(tiles), held):
            group = tiles[at : at + held]
            yield _load(0, np.concatenate([self.a[rows].T.ravel() for rows in group]))
            for number, rows in enumerate(group):
                for tile in range(self._column_tiles):
                    yield from self._scales(tile, anew=tile == rows.start == 0)
                    first = {"a_first": number * ROWS * words, "b_first": tile * words}
                    yield self._run(rows, words, destination, **first, first=1, last=1)

    def _in_blocks(self, words: int, destination: Destination) -> Iterator[Load | Request]:
        """Rows and columns that are too long are loaded K-block by K-block; sums go on."""
        block = self.operands // ROWS
        for rows in self._row_tiles():
            yield from self._scales(0, anew=rows.start == 0)
            for at in range(0, words, block):
                part = slice(at, at + block)
                yield _load(0, self.a[rows, part].T)
                yield from self._columns(part)
                length, last = min(block, words - at), at + block >= words
                run = {"a_first": 0, "b_first": 0, "first": at == 0, "last": last}
                yield self._run(rows, length, destination, **run)

    def place(self, records: np.ndarray, values: np.ndarray, flags: np.ndarray) -> None:
        """Put the results where they belong.

        Parameters
        ----------
        records : array of RECORD
            The results of all runs, as they came.
        values : array of int64, shape (m, all columns)
            Words of the product, or what the device has made of them.
        flags : array of uint8, of the same shape
            What they have raised.
        """
        at = 0
        for rows in self._row_tiles():
            height = len(self.a[rows])
            for tile in range(self._column_tiles):
                found = records[at : at + height * self._row_results].reshape(height, -1)
                at += found.size
                numbers, raised = self._numbers(found["word"]), self._flags(found["flags"])
                first = tile * self.slices
                width = min(self.slices, values.shape[1] - self.start - first)
                columns = slice(self.start + first, self.start + first + width)
                placed = slice(self.row + rows.start, self.row + rows.stop)
                values[placed, columns] = numbers[:, :width]
                flags[placed, columns] = raised[:, :width]

    def counts(self) -> list[int]:
        """Results of each run that has any, in order."""
        heights = [len(self.a[rows]) for rows in self._row_tiles()]
        return [rows * self._row_results for rows in heights for _ in range(self._column_tiles)]

    @property
    def _row_results(self) -> int:
        """Results of each row."""
        if self.rescaling is None:
            return self.slices
        return row_words(self.slices, self.rescaling.to)

    def _numbers(self, words: np.ndarray) -> np.ndarray:
        return words if self.rescaling is None else self.rescaling.numbers(words)

    def _flags(self, flags: np.ndarray) -> np.ndarray:
        """The flags of each number, which are those of its word."""
        return flags if self.rescaling is None else flags.repeat(self.rescaling.to.lanes, axis=1)

    @property
    def _column_tiles(self) -> int:
        return -(-len(self.b) // self.slices)

    def _row_tiles(self) -> list[slice]:
        starts = range(0, len(self.a), ROWS)
        return [slice(at, min(at + ROWS, len(self.a))) for at in starts]

    def _columns(self, part: slice) -> Iterator[Load]:
        for number in range(min(self.slices, len(self.b))):
            yield _load((number + 1) * self.operands, self.b[number :: self.slices, part])

    def _scales(self, tile: int, *, anew: bool) -> Iterator[Request]:
        """Exponents of a tile's columns, where they are not those of the one before."""
        if self.rescaling is None:
            return
        exponents = self._exponents(tile)
        if anew or exponents != self._exponents((tile - 1) % self._column_tiles):
            yield Request(TileOpcode.SCALES, exponents)

    def _exponents(self, tile: int) -> bytes:
        """A byte for each slice."""
        assert self.rescaling is not None
        exponents = self.rescaling.exponents[self.start + tile * self.slices :][: self.slices]
        return exponents.astype(np.int8).tobytes()

    def _run(self, rows: slice, words: int, destination: Destination, **places: int) -> Request:
        run = {"words": words, "rows": rows.stop - rows.start, "mode": int(self.precision)}
        run |= {"destination": destination} | places
        if self.rescaling is not None:
            run |= {"scaled": 1, "to": int(self.rescaling.to)}
        return Request(TileOpcode.RUN, pack(TileRun, **run))


def jobs(
    a: np.ndarray,
    b: np.ndarray,
    precision: Precision,
    rescaling: Rescaling | None,
    *,
    slices: int,
    operands: int,
) -> list[Job]:
    """Jobs that make up a product.

    Parameters
    ----------
    a : array of int64, shape (m, words)
        Packed rows.
    b : array of int64, shape (n, words)
        Packed columns.
    precision : Precision
        How words are read.
    rescaling : Rescaling or None
        What the device makes of the sums.
    slices, operands : int
        As the device is configured.

    Returns
    -------
    list of Job
        None where the product has no elements, or its sums have no terms.
    """
    assert size(TileResult) == RECORD.itemsize
    if not a.size or not b.size:
        return []  # all sums are those of nothing
    words = a.shape[1]
    tiles = operands // words if words <= operands // ROWS else 1
    step = tiles * slices
    if rescaling is not None:
        # Slices without a column repeat the last one: they raise no flags in its word.
        missing = -len(b) % slices
        b = np.pad(b, ((0, missing), (0, 0)), mode="edge")
        exponents = np.pad(rescaling.exponents, (0, missing), mode="edge")
        rescaling = replace(rescaling, exponents=exponents)
    return [
        Job(
            *(a[row : row + _JOB_ROWS], b[start : start + step], row, start),
            *(precision, rescaling, slices, operands),
        )
        for start in range(0, len(b), step)
        for row in range(0, len(a), _JOB_ROWS)
    ]


def _load(address: int, words: np.ndarray) -> Load:
    return Load(address, np.ascontiguousarray(words).ravel().astype("<u4"))

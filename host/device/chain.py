"""Products that follow each other on the device: what one leaves is what the next one takes."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
import torch

from adagrain.host.link.session import Request
from adagrain.models.granularity_unit import row_words
from adagrain.models.interface.configuration import Configuration
from adagrain.models.interface.precision import Precision, precision_of
from adagrain.models.interface.records import pack
from adagrain.models.interface.units.granularity_unit import (
    ROWS,
    Destination,
    TileOpcode,
    TileRun,
)
from adagrain.models.numerics.matmul import packed_rows
from adagrain.models.numerics.matrices import Matrix, matrices
from adagrain.models.numerics.surroundings import exactly

from .product import check_built
from .rescaling import Rescaling
from .scales import exponents_of
from .stage import Stage
from .tiles import Load

__all__ = ["Chain", "Layer"]


@dataclass(frozen=True)
class Layer:
    """A product of a chain.

    Parameters
    ----------
    b : Tensor, array or nested lists, shape (k, n)
        Of the precision that the layer before leaves, as for
        :meth:`~adagrain.host.device.tile_calls.TileCalls.matmul`.
    to : Precision or str
        In which precision the product goes on, or comes back.
    scale : float or sequence of float
        What integers of ``b``, or of each of its columns, are multiples of: powers of two.
    to_scale : float
        What the product's numbers are multiples of; those of floating point that go on: 1.
    """

    b: Matrix
    to: Precision | str
    scale: Any = 1.0
    to_scale: float = 1.0


class Chain:
    """The steps of a chain of products, and what comes of them.

    All matrices lie in the operand memories at once. Rows go through a layer as many at a time as
    the memory of ``a`` has room for, beside what the layer leaves.

    Parameters
    ----------
    a : Matrix
        What goes in, of shape (m, k).
    layers : sequence of Layer
        At least one.
    precision : Precision
        Of ``a``.
    scale : float
        What its integers are multiples of.
    configuration : Configuration
        What the device is built with.

    Raises
    ------
    TypeError, ValueError
        If there is no layer, an operand or a scale does not fit, the memories have no room for
        them, or the build has no such unit or precision.
    """

    @exactly()
    def __init__(
        self,
        a: Matrix,
        layers: Sequence[Layer],
        precision: Precision,
        scale: float,
        configuration: Configuration,
    ) -> None:
        if not configuration.slices:
            raise ValueError(
                "chain needs a build with a granularity unit: device preset "
                f"{configuration.preset!r} has no slices"
            )
        if not layers:
            raise ValueError("layers must be at least one, not none")
        self._slices, self._operands = configuration.slices, configuration.operands
        check_built(precision, configuration)
        self._stages: list[Stage] = []
        left = None
        for number, layer in enumerate(layers):
            if not isinstance(layer, Layer):
                raise TypeError(f"layers must be of Layer, not {layer!r:.60}")
            to = precision_of(layer.to, "to")
            check_built(to, configuration, "to")
            given = a if left is None else left
            x, b = matrices(given, layer.b, precision)
            if not (x.numel() and b.numel()):
                raise ValueError(
                    f"matrices of a chain must have elements, not shapes {(*x.shape,)} and "
                    f"{(*b.shape,)}"
                )
            if left is None:
                self._rows = packed_rows(x, precision)
            is_plain = np.array_equal(layer.scale, 1)
            if left is None:
                is_plain &= np.array_equal(scale, 1)
            scales = (scale, layer.scale) if precision.integer or not is_plain else None
            exponents = exponents_of(scales, b.shape[1], precision)
            rescaling = Rescaling.of(to, layer.to_scale, exponents)
            self._add(b, precision, rescaling, is_last=number == len(layers) - 1)
            left = rescaling.tensor(np.zeros((1, b.shape[1]), dtype=np.int64))
            precision, scale = to, layer.to_scale
        self._check_room()

    @property
    def _group(self) -> int:
        """Tiles of rows that go through a layer at once: inputs and outputs take turns."""
        held = [stage.held for stage in self._stages]
        return self._operands // (ROWS * (max(held[::2]) + max([0, *held[1::2]])))

    def steps(self, destination: Destination) -> Iterator[Load | Request]:
        """Requests to the device; the last layer's results go to a destination.

        With a data port, columns of the next layer come while this one runs, in parts: a run takes
        a cycle for each row and word, a load one for each word, and some for its requests.
        """
        aside = destination == Destination.PORT  # through the link, requests cost more than is won
        columns = self._columns(self._stages[: 1 if aside else None], self._operands)
        sent: bytes | None = None
        for group in self._groups():
            rows = [self._rows[tile].T.ravel() for tile in group]
            yield Load(0, np.concatenate(rows).astype("<u4"))
            for layer, stage in enumerate(self._stages):
                yield from columns
                if aside and group[0].start == 0:
                    after = self._stages[layer + 1 : layer + 2]
                    columns = self._columns(after, stage.words * ROWS // 2)
                for column in range(stage.tiles(self._slices)):
                    exponents = self._exponents(stage, column)
                    if exponents != sent:
                        yield Request(TileOpcode.SCALES, exponents)
                        sent = exponents
                    for number, tile in enumerate(group):
                        yield self._run(layer, column, number, tile, destination)
                        yield from islice(columns, 1)

    def _columns(self, stages: Sequence[Stage], part: int) -> Iterator[Load]:
        """Columns of layers that follow each other, of each slice so many words at a time."""
        if not stages:
            return
        for number in range(self._slices):
            columns = [stage.columns[number :: self._slices].ravel() for stage in stages]
            words = np.concatenate(columns).astype("<u4")
            for at in range(0, len(words), part):
                address = (number + 1) * self._operands + stages[0].first + at
                yield Load(address, words[at : at + part])

    def counts(self) -> list[int]:
        """Results of each run that sends any, in order."""
        return [height * self._width for height, _, _ in self._placed()]

    def place(self, records: np.ndarray) -> tuple[torch.Tensor, torch.Tensor]:
        """The product and its flags, of the results as they came."""
        last = self._stages[-1]
        shape = len(self._rows), last.tiles(self._slices) * self._slices
        numbers, flags = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.uint8)
        at, lanes = 0, last.rescaling.to.lanes
        for height, start, column in self._placed():
            found = records[at : at + height * self._width].reshape(height, -1)
            at += found.size
            rows = slice(start, start + height)
            columns = slice(column * self._slices, (column + 1) * self._slices)
            numbers[rows, columns] = last.rescaling.numbers(found["word"])[:, : self._slices]
            raised = found["flags"].repeat(lanes, axis=1)
            flags[rows, columns] = raised[:, : self._slices]
        numbers, flags = numbers[:, : last.width], flags[:, : last.width].copy()
        return last.rescaling.tensor(numbers), torch.from_numpy(flags)

    @property
    def scale(self) -> float:
        """Scale of which the product's numbers are multiples."""
        return self._stages[-1].rescaling.scale

    @property
    def is_padded(self) -> bool:
        """True if a layer in between multiplies floating point by columns of zeros.

        Its infinities, and no other numbers, raise ``INVALID`` there, and leave NaNs.
        """
        return any(
            not stage.precision.integer and stage.width % self._slices
            for stage in self._stages[:-1]
        )

    @property
    def _width(self) -> int:
        """Results of each row of a tile of the last layer."""
        return row_words(self._slices, self._stages[-1].rescaling.to)

    def _placed(self) -> Iterator[tuple[int, int, int]]:
        """Rows, first row and number among columns of each tile of the last layer, in order."""
        for group in self._groups():
            for column in range(self._stages[-1].tiles(self._slices)):
                for tile in group:
                    yield len(self._rows[tile]), tile.start, column

    def _groups(self) -> list[list[slice]]:
        tiles = [slice(at, at + ROWS) for at in range(0, len(self._rows), ROWS)]
        return [tiles[at : at + self._group] for at in range(0, len(tiles), self._group)]

    def _add(
        self, b: torch.Tensor, precision: Precision, rescaling: Rescaling, *, is_last: bool
    ) -> None:
        """A layer: its columns as they have to lie."""
        if self._stages:
            b = self._padded(b, precision)
        columns = packed_rows(b.t(), precision)
        missing = -len(columns) % self._slices
        if is_last:  # slices without a column repeat the last one: they raise no flags in its word
            columns = np.pad(columns, ((0, missing), (0, 0)), mode="edge")
        else:  # what they leave is multiplied by nothing, or by zeros
            columns = np.pad(columns, ((0, missing), (0, 0)))
        before = self._stages[-1] if self._stages else None
        used, held = 0, columns.shape[1]
        if before:
            tiles = before.tiles(self._slices)
            used = before.first + tiles * before.words
            held = tiles * row_words(self._slices, precision)
        self._stages.append(Stage(precision, rescaling, columns, b.shape[1], used, held))

    def _padded(self, b: torch.Tensor, precision: Precision) -> torch.Tensor:
        """Rows of a matrix where the numbers of the layer before lie: a tile in whole words."""
        width = row_words(self._slices, precision) * precision.lanes
        if width == self._slices:
            return b
        if not precision.integer:
            raise ValueError(
                f"slices must be even for numbers of {precision.name} that go on, "
                f"not {self._slices}"
            )
        tiles = -(-len(b) // self._slices)
        padded = b.new_zeros((tiles, width, b.shape[1]))
        whole = torch.nn.functional.pad(b, (0, 0, 0, tiles * self._slices - len(b)))
        padded[:, : self._slices] = whole.reshape(tiles, self._slices, -1)
        return padded.reshape(tiles * width, -1)

    def _check_room(self) -> None:
        for stage in self._stages[:-1]:
            if not stage.rescaling.to.integer and stage.rescaling.scale != 1:
                raise ValueError(
                    f"to_scale must be 1 for numbers of {stage.rescaling.to.name} that go on, "
                    f"not {stage.rescaling.scale:g}"
                )
        last = self._stages[-1]
        used = last.first + last.tiles(self._slices) * last.words
        if used > self._operands:
            raise ValueError(
                f"matrices of a chain must fit into {self._operands} words of each slice, "
                f"not {used}"
            )
        if not self._group:
            raise ValueError(
                f"rows of a chain must fit into {self._operands // ROWS} words with what a layer "
                f"leaves of them, not {[stage.held for stage in self._stages]}"
            )

    def _exponents(self, stage: Stage, column: int) -> bytes:
        """An exponent for each slice."""
        found = stage.rescaling.exponents
        missing = stage.tiles(self._slices) * self._slices - len(found)
        whole = np.pad(found, (0, missing), mode="edge")
        return whole[column * self._slices :][: self._slices].astype(np.int8).tobytes()

    def _base(self, layer: int) -> int:
        """Places of the rows of a group that a layer takes."""
        even = max(stage.held for stage in self._stages[::2])
        return 0 if layer % 2 == 0 else self._group * ROWS * even

    def _run(
        self, layer: int, column: int, number: int, tile: slice, destination: Destination
    ) -> Request:
        stage, height = self._stages[layer], len(self._rows[tile])
        run = {
            "a_first": self._base(layer) + number * ROWS * stage.held,
            "b_first": stage.first + column * stage.words,
            "words": stage.words,
            "rows": height,
            "mode": int(stage.precision),
            "first": 1,
            "last": 1,
            "scaled": 1,
            "to": int(stage.rescaling.to),
            "destination": destination,
        }
        if layer + 1 < len(self._stages):
            after = self._stages[layer + 1]
            words = row_words(self._slices, stage.rescaling.to)
            at = self._base(layer + 1) + number * ROWS * after.held + column * words * height
            run |= {"destination": Destination.MEMORY, "to_first": at}
        return Request(TileOpcode.RUN, pack(TileRun, **run))

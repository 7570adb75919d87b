"""Jobs of a product, executed by slices that know nothing of matrices."""

import random

import numpy as np
import pytest

from adagrain.host.device.rescaling import Rescaling
from adagrain.host.device.tiles import RECORD, Job, Load, jobs
from adagrain.host.link.session import Request
from adagrain.models.interface.precision import Precision
from adagrain.models.interface.records import pack, unpack
from adagrain.models.interface.units.granularity_unit import (
    ROWS,
    Destination,
    TileOpcode,
    TileResult,
    TileRun,
)


class Slices:
    """Operand memories, sums of products of whole words modulo 2^32, and what is written down.

    Rescaling to FP32 adds a column's exponent; to anything narrower it keeps the low bits too.
    """

    def __init__(self, slices: int, operands: int) -> None:
        self.slices, self.operands = slices, operands
        self.memory = np.full((slices + 1, operands), -1)
        self.exponents = np.zeros(slices, dtype=np.int8)
        self.sums = np.zeros((ROWS, slices), dtype=np.int64)
        self.loads = 0

    def answer(self, step: Load | Request) -> bytes:
        if isinstance(step, Load):
            self._load(step.address, step.words)
            return b""
        return self._execute(step)

    def _execute(self, request: Request) -> bytes:
        if request.opcode == TileOpcode.SCALES:
            self.exponents = np.frombuffer(request.payload, dtype=np.int8)
            assert len(self.exponents) == self.slices
            return b""
        return self._run(**unpack(TileRun, request.payload))

    def _load(self, address: int, words: np.ndarray) -> None:
        self.loads += 1
        assert words.size > 0 and address % self.operands + words.size <= self.operands
        self.memory.reshape(-1)[address : address + words.size] = words

    def _run(self, *, words: int, rows: int, first: int, last: int, **run: int) -> bytes:
        assert words * ROWS <= self.operands
        a = self.memory[0, run["a_first"] :][: rows * words].reshape(words, rows).T
        b = self.memory[1:, run["b_first"] :][:, :words]
        assert a.min() >= 0, "rows must be written before they are read"
        assert b.shape == (self.slices, words)
        if first:
            self.sums[:] = 0
        self.sums[:rows] += a @ b.T
        if not last:
            return b""
        found = self.sums[:rows] + (self.exponents if run["scaled"] else 0)
        lanes = Precision(run["to"]).lanes if run["scaled"] else 1
        return b"".join(self._row(row % (1 << 32), lanes) for row in found)

    def _row(self, row: np.ndarray, lanes: int) -> bytes:
        bits = 32 // lanes
        raw = b""
        for at in range(0, self.slices, lanes):
            numbers = [int(number) % (1 << bits) for number in row[at : at + lanes]]
            word = sum(number << (bits * lane) for lane, number in enumerate(numbers))
            raw += pack(TileResult, word=word, flags=word & 0x1F)
        return raw


SHAPES = [
    (1, 1, 1),
    (8, 1, 4),  # one tile
    (9, 3, 5),  # a row and a column too many
    (3, 8, 13),  # as many words as fit
    (3, 9, 13),  # one more: sums go on
    (17, 27, 6),  # sums of four blocks
    (130, 2, 9),  # more rows than a job has
    (2, 3, 90),  # more columns than the memories hold
]


def product_of(
    shape: tuple[int, int, int], to: Precision | None
) -> tuple[Slices, list[Job], np.ndarray, np.ndarray]:
    """Compute one on 4 slices of 64 words; all sums as they should be."""
    m, words, n = shape
    draw = np.random.default_rng(m * 10000 + words * 100 + n)
    a, b = draw.integers(0, 1 << 24, (m, words)), draw.integers(0, 1 << 24, (n, words))
    exponents = draw.integers(-100, 100, n)
    rescaling = None if to is None else Rescaling(to, 1.0, exponents)
    found = jobs(a, b, Precision.INT8, rescaling, slices=4, operands=64)
    device = Slices(4, 64)
    values, flags = np.full((m, n), -1), np.full((m, n), 0xFF, dtype=np.uint8)
    for job in random.Random(m).sample(found, len(found)):  # none needs what another has written
        answers = [device.answer(step) for step in job.steps(Destination.LINK)]
        lengths = [len(answer) // RECORD.itemsize for answer in answers if answer]
        assert lengths == job.counts()
        job.place(np.frombuffer(b"".join(answers), dtype=RECORD), values, flags)
    expected = a @ b.T + (0 if rescaling is None else exponents)
    bits = 32 if to is None else 32 // to.lanes
    assert np.array_equal(values % (1 << bits), expected % (1 << bits))
    return device, found, values, flags


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_sums_come_to_their_places(shape: tuple[int, int, int]) -> None:
    _, _, values, flags = product_of(shape, None)
    assert np.array_equal(flags, values & 0x1F)


@pytest.mark.parametrize("to", list(Precision))
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_rescaled_numbers_come_to_their_places(shape: tuple[int, int, int], to: Precision) -> None:
    """Those of a word have the word's flags."""
    _, _, _, flags = product_of(shape, to)
    width = min(4, to.lanes)
    for at in range(0, shape[2], width):
        assert (flags[:, at : at + width] == flags[:, at : at + 1]).all()


@pytest.mark.parametrize(("words", "loads"), [(8, 8), (4, 4), (3, 4), (1, 1)])
def test_operands_that_fit_are_loaded_once(words: int, loads: int) -> None:
    """Columns, a load for each slice; and of rows as many tiles at a time as there is room for."""
    device, found, _, _ = product_of((64, words, 8), None)
    assert len(found) == 1
    assert device.loads == 4 + loads


def test_a_job_has_as_many_columns_as_the_memories_hold() -> None:
    assert len(product_of((8, 3, 84), None)[1]) == 1, "21 tiles of 3 words in 64"
    assert len(product_of((8, 3, 85), None)[1]) == 2
    assert len(product_of((8, 9, 85), None)[1]) == 22, "blocks: one tile each"


def test_a_job_has_at_most_1024_rows() -> None:
    assert len(product_of((1024, 1, 1), None)[1]) == 1
    assert len(product_of((1025, 1, 1), None)[1]) == 2


def test_scales_are_sent_where_they_change() -> None:
    words = np.ones((17, 2), dtype=np.int64)
    exponents = np.array([1, 2, 3, 4, 1, 2, 3, 4, 5, 5, 5, 5])
    rescaling = Rescaling(Precision.FP32, 1.0, exponents)
    (job,) = jobs(words, words[:12], Precision.INT8, rescaling, slices=4, operands=64)
    steps = [step for step in job.steps(Destination.LINK) if isinstance(step, Request)]
    sent = [step.payload for step in steps if step.opcode == TileOpcode.SCALES]
    same, other = bytes([1, 2, 3, 4]), bytes([5] * 4)
    assert sent == [same, other, same, other, same, other]


def test_slices_without_a_column_repeat_the_last_one() -> None:
    """So that they raise no flags in its word."""
    words = np.arange(1, 6).reshape(5, 1)
    rescaling = Rescaling(Precision.INT8, 1.0, np.arange(5))
    (job,) = jobs(words, words, Precision.INT8, rescaling, slices=4, operands=64)
    assert job.b.ravel().tolist() == [1, 2, 3, 4, 5, 5, 5, 5]
    assert job.rescaling is not None
    assert job.rescaling.exponents.tolist() == [0, 1, 2, 3, 4, 4, 4, 4]


def test_nothing_is_asked_where_there_is_nothing_to_multiply() -> None:
    for a, b in [((0, 3), (2, 3)), ((2, 0), (2, 0)), ((2, 3), (0, 3))]:
        none = np.zeros(a, dtype=np.int64), np.zeros(b, dtype=np.int64)
        assert jobs(*none, Precision.INT8, None, slices=4, operands=64) == []

"""Golden tiles against NumPy's own matrix products, in several runs, and what is refused."""

import numpy as np
import pytest

from adagrain.models.granularity_unit import MAX_SUM, RunError, TileModel
from adagrain.models.interface.precision import Precision
from adagrain.models.interface.units.granularity_unit import ROWS

SLICES, WORDS = 3, 64
DTYPES = {Precision.FP32: "<f4", Precision.FP16: "<f2", Precision.INT8: "i1"}
RUN = {"a_first": 0, "b_first": 0, "first": 1, "last": 1, "scaled": 0, "to": 0}


def words(numbers: np.ndarray, precision: Precision) -> np.ndarray:
    """Rows of numbers as words, by NumPy's own views; INT4 by pairs."""
    if precision is Precision.INT4:
        nibbles = numbers.astype(np.uint8) & 15
        raw = nibbles[..., 0::2] | nibbles[..., 1::2] << 4
        return np.ascontiguousarray(raw).view("<u4").astype(np.int64)
    return np.ascontiguousarray(numbers.astype(DTYPES[precision])).view("<u4").astype(np.int64)


def values(found: list[int], precision: Precision) -> np.ndarray:
    """Sums as numbers: 32 bits, integers or FP32, or FP16."""
    raw = np.array(found, dtype="<u4")
    if precision.integer:
        return raw.view("<i4").astype(np.float64)
    if precision is Precision.FP16:
        return raw.astype("<u2").view("<f2").astype(np.float64)
    return raw.view("<f4").astype(np.float64)


@pytest.mark.parametrize("precision", Precision, ids=lambda p: p.name)
@pytest.mark.parametrize("rows", [1, 3, ROWS])
@pytest.mark.parametrize("lengths", [(1,), (4,), (3, 1, 2)])
def test_tiles_are_matrix_products(
    precision: Precision, rows: int, lengths: tuple[int, ...]
) -> None:
    """Of small whole numbers, whose sums are exact in every precision."""
    rng = np.random.default_rng(rows)
    most = 7 if precision is Precision.INT4 else 12
    tile = TileModel(SLICES, WORDS)
    total, found = np.zeros((rows, SLICES)), list[int]()
    for number, length in enumerate(lengths):
        terms = length * precision.lanes
        a = rng.integers(-most, most + 1, (rows, terms))
        b = rng.integers(-most, most + 1, (SLICES, terms))
        total += a.astype(np.float64) @ b.T.astype(np.float64)
        a_first, b_first = rng.integers(0, WORDS - rows * length), rng.integers(0, WORDS - length)
        tile.memory.write(int(a_first), words(a, precision).T.ravel())
        for at, column in enumerate(words(b, precision), start=1):
            tile.memory.write(at * WORDS + int(b_first), column)
        run = RUN | {"mode": precision, "rows": rows, "words": length}
        run |= {"a_first": int(a_first), "b_first": int(b_first)}
        results = tile.run(run | {"first": number == 0, "last": number == len(lengths) - 1})
        assert bool(results) == (number == len(lengths) - 1)
        found = [result.word for result in results]
        assert not any(result.flags for result in results)
    assert values(found, precision).reshape(rows, SLICES).tolist() == total.tolist()


@pytest.mark.parametrize("exponents", [(0, 1, -3), (-20, 5, 2)])
def test_scaled_tiles_are_products_times_powers_of_two(exponents: tuple[int, ...]) -> None:
    rng = np.random.default_rng(1)
    a, b = rng.integers(-100, 101, (2, 4)), rng.integers(-100, 101, (SLICES, 4))
    tile = TileModel(SLICES, WORDS)
    tile.exponents = np.array(exponents)
    tile.memory.write(0, words(a, Precision.INT8).T.ravel())
    for at, column in enumerate(words(b, Precision.INT8), start=1):
        tile.memory.write(at * WORDS, column)
    run = RUN | {"mode": Precision.INT8, "rows": 2, "words": 1, "scaled": 1, "to": Precision.FP32}
    found = values([result.word for result in tile.run(run)], Precision.FP32)
    wanted = (a @ b.T) * 2.0 ** np.array(exponents)
    assert found.reshape(2, SLICES).tolist() == wanted.tolist()


@pytest.mark.parametrize(
    ("changes", "is_refused"),
    [
        ({"rows": 0}, True),
        ({"rows": ROWS}, False),
        ({"rows": ROWS + 1}, True),
        ({"words": 0}, True),
        ({"a_first": WORDS - 4}, False),
        ({"a_first": WORDS - 3}, True),
        ({"b_first": WORDS - 2}, False),
        ({"b_first": WORDS - 1}, True),
        ({"first": 0}, True),
    ],
)
def test_runs_that_cannot_be(changes: dict[str, int], is_refused: bool) -> None:
    run = RUN | {"mode": Precision.INT8, "rows": 2, "words": 2} | changes
    tile = TileModel(SLICES, WORDS)
    if not is_refused:
        assert len(tile.run(run)) == run["rows"] * SLICES
        return
    with pytest.raises(RunError) as refused:
        tile.run(run)
    assert refused.value.started == bool(run["first"])
    assert tile.run(run | {"rows": 1, "words": 1, "a_first": 0, "b_first": 0, "first": 1})


@pytest.mark.parametrize("change", [{"mode": Precision.FP16}, {"rows": 1}])
def test_a_sum_goes_on_with_its_own_mode_and_rows(change: dict[str, int]) -> None:
    run = RUN | {"mode": Precision.INT8, "rows": 2, "words": 2}
    tile = TileModel(SLICES, WORDS)
    tile.run(run | {"last": 0})
    with pytest.raises(RunError, match="a sum of this precision and rows must be under way"):
        tile.run(run | {"first": 0} | change)
    assert len(tile.run(run | {"first": 0})) == 2 * SLICES


def test_a_refused_run_changes_nothing() -> None:
    """As the gateware: the sum that is under way goes on."""
    tile = TileModel(1, MAX_SUM + 1)
    tile.memory.write(0, np.full(1, 0x01010101))
    tile.memory.write(MAX_SUM + 1, np.full(1, 0x01010101))
    run = RUN | {"mode": Precision.INT8, "rows": 1, "words": 1, "last": 0}
    tile.run(run)
    with pytest.raises(RunError):
        tile.run(run | {"mode": Precision.FP16, "words": MAX_SUM + 1})
    assert [r.word for r in tile.run(run | {"first": 0, "last": 1})] == [8]


@pytest.mark.parametrize(("last", "is_refused"), [(WORDS, False), (WORDS + 1, True)])
def test_sums_of_fp16_end_at_their_limit(last: int, is_refused: bool) -> None:
    tile = TileModel(1, WORDS + 1)
    run = RUN | {"mode": Precision.FP16, "rows": 1, "words": WORDS, "last": 0}
    for number in range(MAX_SUM // WORDS - 1):
        tile.run(run | {"first": number == 0})
    if is_refused:
        with pytest.raises(RunError, match=f"at most {MAX_SUM} words, not {MAX_SUM + 1}"):
            tile.run(run | {"first": 0, "last": 1, "words": last})
    else:
        assert [r.word for r in tile.run(run | {"first": 0, "last": 1, "words": last})] == [0]

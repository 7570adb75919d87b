"""Code lengths against an exhaustive search and Huffman's own rule; tables there and back."""

import heapq
import math
import random
from functools import cache

import codec_reference as reference
import numpy as np
import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st

from adagrain.models.codec import (
    DEFAULT_TABLES,
    CodecError,
    CodeTable,
    build_table,
    build_tables,
    encode,
    histogram,
)
from adagrain.models.codec.choice_kernel import carried_bytes, costs, split
from adagrain.models.codec.package_merge import code_lengths
from adagrain.models.codec.parser_kernel import Outcome, read_table
from adagrain.models.interface.codec import BINS, ESCAPE, LONGEST_CODE, SYMBOLS

weights = st.integers(0, 1000) | st.integers(0, 3) | st.sampled_from([1 << 40, 0])


def least(given_weights: list[int], longest: int) -> float:
    """Bits of the best prefix code that fills the space, over all of them."""
    ordered = sorted(given_weights, reverse=True)

    @cache
    def search(depth: int, nodes: int, at: int) -> float:
        if at == len(ordered):
            return math.inf if nodes else 0
        if depth > longest or nodes > len(ordered) - at:
            return math.inf
        return min(
            sum(ordered[at + leaves :]) + search(depth + 1, 2 * (nodes - leaves), at + leaves)
            for leaves in range(nodes + 1)
        )

    return sum(ordered) + search(1, 2, 0)


@settings(max_examples=80, deadline=None)
@given(st.lists(weights, min_size=2, max_size=12), st.integers(4, 7))
def test_lengths_are_optimal(given_weights: list[int], longest: int) -> None:
    lengths = code_lengths(np.array(given_weights, dtype=np.int64), longest)
    assert lengths.min() >= 1 and lengths.max() <= longest
    assert sum(1 << longest - length for length in lengths.tolist()) == 1 << longest
    assert int(lengths @ given_weights) == least(given_weights, longest)


def test_lengths_are_huffmans_where_the_limit_does_not_bind(seed: int) -> None:
    generator = random.Random(seed)
    for _ in range(50):
        own = [generator.randrange(1, 200) for _ in range(generator.randrange(2, 100))]
        heap, total = list(own), 0
        heapq.heapify(heap)
        while len(heap) > 1:
            total += (pair := heapq.heappop(heap) + heapq.heappop(heap))
            heapq.heappush(heap, pair)
        assert code_lengths(np.array(own), 30) @ own == total, f"seed {seed}"


def test_the_limit_binds() -> None:
    fibonacci = [1, 1]
    while len(fibonacci) < 30:
        fibonacci.append(sum(fibonacci[-2:]))
    lengths = code_lengths(np.array(fibonacci), 12)
    assert lengths.max() == 12 and lengths @ fibonacci == least(fibonacci, 12)


def test_as_many_symbols_as_codes() -> None:
    assert (code_lengths(np.arange(16), 4) == 4).all()


@pytest.mark.parametrize(
    ("given_weights", "message"),
    [
        ([1], "symbols must be from 2 to 16, not 1"),
        ([1] * 17, "symbols must be from 2 to 16, not 17"),
        ([1, -2], "weights must be at least 0, not -2"),
    ],
)
def test_wrong_weights(given_weights: list[int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        code_lengths(np.array(given_weights), 4)


@st.composite
def histograms(draw: st.DrawFn) -> np.ndarray:
    counts = np.zeros(SYMBOLS, dtype=np.int64)
    for symbol in draw(st.lists(st.integers(0, ESCAPE), max_size=40)):
        counts[symbol] += draw(weights)
    return counts


@settings(max_examples=100, deadline=None)
@given(histograms(), st.integers(0, 1))
def test_built_tables_code_what_comes_and_travel(counts: np.ndarray, floor: int) -> None:
    table = build_table(counts, floor=floor)
    coded = [symbol for symbol in range(ESCAPE) if table.lengths[symbol]]
    wanted = [symbol for symbol in range(ESCAPE) if counts[symbol] + floor]
    assert coded == (wanted or [0])
    assert table.lengths[ESCAPE] == max(table.lengths)
    lengths = np.zeros(SYMBOLS, dtype=np.uint8)
    raw = np.frombuffer(table.carried + b"rest", dtype=np.uint8)
    assert read_table(raw, lengths) == ((Outcome.FINE, 0, 0, 0, 0), len(table.carried))
    assert lengths.tobytes() == table.lengths
    assert table.carried == reference.carried([*table.lengths])
    assert reference.table_at(table.carried) == ([*table.lengths], len(table.carried))
    assert carried_bytes(np.frombuffer(table.lengths, dtype=np.uint8)) == len(table.carried)


@settings(max_examples=100, deadline=None)
@given(histograms())
@example(np.append(np.arange(ESCAPE), 0) ** 3)
def test_codes_are_those_of_the_page(counts: np.ndarray) -> None:
    check_codes(build_table(counts))


@pytest.mark.parametrize("table", DEFAULT_TABLES.values())
def test_default_codes_are_those_of_the_page(table: CodeTable) -> None:
    check_codes(table)


def check_codes(table: CodeTable) -> None:
    wanted = {symbol: code for code, symbol in reference.codes_of([*table.lengths]).items()}
    for symbol, length in enumerate(table.lengths):
        code = f"{table.codes[symbol]:0{length}b}" if length else None
        assert code == wanted.get(symbol)
    assert set(wanted[ESCAPE]) == {"1"}


def test_an_escape_that_comes_often_has_the_longest_code() -> None:
    counts = np.zeros(SYMBOLS, dtype=np.int64)
    counts[[0, 1, 2, ESCAPE]] = 100, 10, 5, 1000
    table = build_table(counts)
    assert [table.lengths[symbol] for symbol in (0, 1, 2, ESCAPE)] == [1, 2, 3, 3]


def test_costs_are_those_of_elements() -> None:
    """Of each symbol, an element as the page writes it."""
    table = build_table(np.eye(SYMBOLS, dtype=np.int64)[:100].sum(axis=0))
    bits = costs(np.frombuffer(table.lengths, dtype=np.uint8), 5)
    codes = {symbol: code for code, symbol in reference.codes_of([*table.lengths]).items()}
    for symbol in range(ESCAPE):
        gap = 1 << symbol // 32 >> 1
        word = 201 - symbol % 32 << 6
        assert bits[symbol] == len(reference.element_bits(word, gap, 100, codes, (8, 7), 5))
    assert bits[ESCAPE] == len(reference.element_bits(0x7F80, 3, 100, codes, (8, 7), 5))


def test_two_tables_are_built_where_regions_differ() -> None:
    dense = torch.randn(20_000).bfloat16()
    sparse = torch.where(torch.rand(200_000) < 0.002, 1.0, 0.0).bfloat16()
    apart = histogram([dense, sparse, dense * 8, sparse])
    tables = build_tables(apart)
    assert len(tables) == 2
    alike = histogram([sparse, sparse])
    assert len(build_tables(alike)) == 1
    frame = encode([dense, sparse, dense * 8, sparse])
    assert len(frame) < len(encode([dense, sparse, dense * 8, sparse], tables=tables[:1]))


@pytest.mark.parametrize("shift", [10, 24, 25, 31, 32, 40])
def test_large_counts_have_the_tables_of_small_ones(shift: int) -> None:
    """Where no count fits in 31 bits, and where only their sums over the regions do not."""
    counts = np.random.default_rng(3).integers(0, 100, (3, SYMBOLS))
    counts[0, BINS:], counts[1, : 8 * BINS] = 0, 0
    wanted = build_tables(counts)
    assert len(wanted) == 2
    assert build_tables(counts << shift) == wanted
    counts[2, 5] = 1
    rare = np.where(counts == 1, counts, counts << 40)
    assert all(any(own.lengths[n] for own in build_tables(rare)) for n in np.flatnonzero(rare[2]))


def test_a_split_never_takes_more_than_it_says() -> None:
    generator = np.random.default_rng(5)
    for _ in range(20):
        counts = generator.poisson(generator.random((6, SYMBOLS)) ** 8 * 20).astype(np.int64)
        lengths, bits = split(counts, 7, 4)
        taken = np.stack([counts @ costs(own, 7) for own in lengths]).min(axis=0).sum()
        assert bits == taken + 8 * sum(carried_bytes(own) for own in lengths)


@pytest.mark.parametrize("table", DEFAULT_TABLES.values())
def test_default_tables_have_all_symbols_of_twelve_binades(table: CodeTable) -> None:
    assert all((length > 0) == (n % BINS < 24) for n, length in enumerate(table.lengths[:ESCAPE]))
    assert table.lengths[ESCAPE] == LONGEST_CODE


def lengths(*own: int, escape: int) -> bytes:
    return bytes([*own, *[0] * (ESCAPE - len(own)), escape])


@pytest.mark.parametrize(
    ("own", "message"),
    [
        (bytes(3), "table must have 417 code lengths, not 3"),
        (lengths(13, escape=13), "code lengths must be from 0 to 12, not 13"),
        (
            lengths(1, 2, escape=1),
            "the escape's code must be as long as the longest, 2 bits, not 1",
        ),
        (lengths(1, 2, escape=2), None),
        (lengths(2, 2, escape=2), "codes must fill the code space, 4096 of 12 bits, not 3072"),
        (lengths(1, 1, escape=1), "codes must fill the code space, 4096 of 12 bits, not 6144"),
        (bytes(SYMBOLS), "codes must fill the code space, 4096 of 12 bits, not 0"),
    ],
)
def test_wrong_lengths(own: bytes, message: str | None) -> None:
    if message is None:
        assert CodeTable(own).number == 1
        return
    with pytest.raises(CodecError, match=message):
        CodeTable(own)


def test_wrong_numbers_and_counts() -> None:
    own = lengths(1, escape=1)
    with pytest.raises(TypeError, match="lengths must be bytes, not of type bytearray"):
        CodeTable(bytearray(own))  # type: ignore[arg-type]
    for number in (16.5, True):
        with pytest.raises(TypeError, match=f"number of a table must be a whole .* not {number}"):
            CodeTable(own, number)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="number of a table must be from 1 to 255, not 0"):
        CodeTable(own, 0)
    with pytest.raises(ValueError, match="number of an agreed table must be from 16 to 255, not 4"):
        CodeTable(own, 4)
    with pytest.raises(ValueError, match="table 2 must be the default one; others are carried, or"):
        CodeTable(own, 2)
    with pytest.raises(ValueError, match=r"counts must have shape \(417,\), not \(3,\)"):
        build_table(np.zeros(3, dtype=np.int64))
    with pytest.raises(TypeError, match="counts must be integers, not of float64"):
        build_table(np.full(417, 0.5))
    with pytest.raises(ValueError, match="counts must be at least 0, not -1"):
        build_table(np.full(SYMBOLS, -1))
    for most in (1 << 62, (1 << 63) - 1):
        with pytest.raises(ValueError, match=f"counts must be at most {1 << 48}, not {most}"):
            build_table(np.append(np.ones(ESCAPE, dtype=np.int64), most))
    with pytest.raises(ValueError, match=f"counts must be at most {1 << 48}, not {1 << 63}"):
        build_table(np.full(SYMBOLS, 1 << 63, dtype=np.uint64))
    assert len(build_table(np.full(SYMBOLS, 1 << 48), floor=1 << 32).lengths) == SYMBOLS
    with pytest.raises(ValueError, match="floor must be from 0 to 4294967296, not -1"):
        build_table(np.zeros(SYMBOLS, dtype=np.int64), floor=-1)
    with pytest.raises(TypeError, match=r"floor must be a whole number, not 0\.5"):
        build_table(np.zeros(SYMBOLS, dtype=np.int64), floor=0.5)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("counts", "mantissa_bits", "error", "message"),
    [
        (np.zeros((2, 10), dtype=int), 7, ValueError, r"shape \(regions, 417\), not \(2, 10\)"),
        (np.zeros(SYMBOLS, dtype=int), 7, ValueError, r"shape \(regions, 417\), not \(417,\)"),
        (np.full((1, SYMBOLS), 0.5), 7, TypeError, "counts must be integers, not of float64"),
        (np.full((1, SYMBOLS), -1), 7, ValueError, "counts must be at least 0, not -1"),
        (np.full((1, SYMBOLS), 1 << 62), 7, ValueError, f"counts must be at most {1 << 48}, not"),
        (np.ones((1, SYMBOLS), dtype=int), 99, ValueError, "mantissa_bits must be .* 10, not 99"),
        (np.ones((1, SYMBOLS), dtype=int), 7.5, TypeError, r"mantissa_bits must .*, not 7\.5"),
    ],
)
def test_wrong_counts_of_regions(
    counts: np.ndarray, mantissa_bits: int, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        build_tables(counts, mantissa_bits)

"""Frames against a plain codec of bit strings that follows the page, there and back."""

import random
from itertools import chain
from pathlib import Path

import codec_reference as reference
import numpy as np
import pytest
import torch
from codec_reference import Region
from codec_tensors import masked, same, tensor, words_of
from hypothesis import given, settings
from hypothesis import strategies as st

from adagrain.models.codec import (
    DEFAULT_TABLES,
    CodeTable,
    build_table,
    build_tables,
    decode,
    encode,
    histogram,
    with_mantissa_bits,
)
from adagrain.models.codec.bases_kernel import shift_counts
from adagrain.models.codec.choice import choose_slots
from adagrain.models.interface.codec import (
    BLOCK,
)
from adagrain.models.interface.formats import FORMATS, FormatCode

PAGE = Path(__file__).parents[2] / "docs" / "codec.md"
CODES = (FormatCode.BF16, FormatCode.FP16)
WIDE, NARROW = DEFAULT_TABLES.values()
LENGTHS = {number: [*table.lengths] for number, table in DEFAULT_TABLES.items()}


def by_reference(frame: bytes, tables: dict[int, list[int]] = LENGTHS) -> list[torch.Tensor]:
    fmt, _, regions = reference.read_frame(frame, tables, 1 << 24)
    return [tensor(words, FormatCode(fmt)) for words in regions]


#: Any words, and those at the edges of their kinds, between runs of zeros.
SPECIAL = {
    FormatCode.BF16: [
        0x8000,
        1,
        0x8001,
        0x7F,
        0x80,
        0x7F7F,
        0x7F80,
        0xFF80,
        0x7F81,
        0x7FFF,
        0xFFC1,
    ],
    FormatCode.FP16: [
        0x8000,
        1,
        0x8001,
        0x3FF,
        0x400,
        0x7BFF,
        0x7C00,
        0xFC00,
        0x7C01,
        0x7FFF,
        0xFE01,
    ],
}


@st.composite
def tensors(draw: st.DrawFn) -> tuple[FormatCode, list[list[int]]]:
    code = draw(st.sampled_from(CODES))
    word = st.integers(0, 0xFFFF) | st.sampled_from(SPECIAL[code])
    near = st.integers(0, 0x3FF).map(lambda n: 0x3C00 + n)
    run = st.one_of(
        st.lists(word, max_size=6),
        st.lists(near, max_size=12),
        st.integers(0, 5000).map(lambda n: [0] * n),
    )
    regions = st.lists(run, max_size=5).map(lambda runs: [*chain.from_iterable(runs)])
    return code, draw(st.lists(regions, min_size=1, max_size=3))


@settings(max_examples=120, deadline=None)
@given(tensors(), st.integers(0, 10), st.sampled_from([None, "default", "built"]), st.data())
def test_any_tensors_come_back_and_equal_the_reference(
    given_tensors: tuple[FormatCode, list[list[int]]],
    bits: int,
    way: str | None,
    data: st.DataObject,
) -> None:
    code, regions = given_tensors
    x = [tensor(words, code) for words in regions]
    kept = min(bits, FORMATS[code].mantissa_bits)
    limit = 2 ** FORMATS[code].exponent_bits - 2
    exponents = data.draw(
        st.none() | st.lists(st.integers(0, limit), min_size=len(x), max_size=len(x))
    )
    counts = histogram(x, exponents=exponents, mantissa_bits=kept)
    tables = {None: None, "default": [WIDE, NARROW], "built": [build_table(counts.sum(axis=0))]}[
        way
    ]
    frame = encode(x, exponents=exponents, tables=tables, mantissa_bits=kept)
    assert same(decode(frame), x)
    assert same(by_reference(frame), x)
    if tables is not None:
        given = [exponents] if exponents else bases_of(x, code)
        assert frame in [of_reference(x, code, kept, tables, own) for own in given]


def bases_of(x: list[torch.Tensor], code: FormatCode) -> list[list[int]]:
    """Largest exponents of finite elements: of each region, and of all."""
    exponent_bits, mantissa_bits = reference.FORMATS[code]
    fields = [[w >> mantissa_bits & 2**exponent_bits - 1 for w in words_of(part)] for part in x]
    own = [max((f for f in part if f < 2**exponent_bits - 1), default=0) for part in fields]
    return [own, [max(own)] * len(x)]


def of_reference(
    x: list[torch.Tensor], code: FormatCode, kept: int, tables: list[CodeTable], bases: list[int]
) -> bytes:
    """The same frame, from strings of bits; slots by what the elements take in them."""
    sizes = reference.FORMATS[code]
    regions = []
    for part, base in zip(x, bases, strict=True):
        words = words_of(part)
        taken = [sum(map(len, elements(words, base, [*t.lengths], sizes, kept))) for t in tables]
        regions.append(Region(words, base, taken.index(min(taken))))
    own = [(int(table.number), [*table.lengths]) for table in tables]
    return reference.frame_of(regions, code, kept, own)


def elements(
    words: list[int], base: int, lengths: list[int], sizes: tuple[int, int], kept: int
) -> list[str]:
    codes = {symbol: bits for bits, symbol in reference.codes_of(lengths).items()}
    found, gap = [], 0
    for at, word in enumerate(words):
        gap = 0 if at % BLOCK == 0 else gap
        if word:
            found.append(reference.element_bits(word, gap, base, codes, sizes, kept))
        gap = 0 if word else gap + 1
    return found


@pytest.mark.parametrize("code", CODES)
@pytest.mark.parametrize("density", [0.5, 0.1, 0.01])
def test_gradients_equal_the_reference(code: FormatCode, density: float) -> None:
    x = [masked(length, density, code, length) for length in (1, 500, 4096, 9000)]
    kept = FORMATS[code].mantissa_bits
    for tables in ([WIDE, NARROW], [NARROW], build_tables(histogram(x))):
        frame = encode(x, tables=tables)
        assert frame in [of_reference(x, code, kept, tables, own) for own in bases_of(x, code)]
        assert same(decode(frame), x)


@pytest.mark.parametrize("code", CODES)
def test_bins_count_from_one_base_where_one_threshold_is_for_all(code: FormatCode) -> None:
    generator = torch.Generator().manual_seed(int(code))
    x = [torch.randn(20_000, generator=generator) ** 3 * 2.0 ** (-n / 3) for n in range(12)]
    one, each = [torch.where(own.abs() > 4, own, 0.0) for own in x], []
    largest = torch.cat(one).abs().max()
    one[-1][0] = 1.5 * 2.0 ** (float(largest.log2().floor()) - 16)  # the first behind the last bin
    for own in x:
        each.append(torch.where(own.abs() > own.abs().quantile(0.95), own, 0.0))
    for thresholds, place in ((one, 1), (each, 0)):
        masked_ones = [own.to(FORMATS[code].dtype) for own in thresholds]
        frame, bases = encode(masked_ones), bases_of(masked_ones, code)
        assert frame == encode(masked_ones, exponents=bases[place])
        assert len(frame) < len(encode(masked_ones, exponents=bases[1 - place]))
        tables = [build_table(histogram(masked_ones).sum(axis=0), number=16, floor=1)]
        agreed = encode(masked_ones, tables=tables)
        assert agreed == encode(masked_ones, exponents=bases[place], tables=tables)
        assert same(decode(frame), masked_ones)


def test_counts_shifted_are_those_counted_from_other_bases(seed: int) -> None:
    """By less than all bins, by as many, by more; the escapes of before stay."""
    generator = torch.Generator().manual_seed(seed)
    x = [torch.randn(5000, generator=generator).bfloat16() for _ in range(5)]
    for part in x:
        part[:2] = torch.tensor([torch.inf, 2.0**-60])
    bases, octaves = np.array([129, 130, 131, 132, 133]), np.array([0, 1, 15, 16, 90])
    shifted = shift_counts(histogram(x, exponents=bases), 2 * octaves)
    assert np.array_equal(shifted, histogram(x, exponents=bases + octaves))


@pytest.mark.parametrize("code", CODES)
def test_a_base_far_above_a_region_takes_escapes_and_is_left(code: FormatCode) -> None:
    spread = torch.tensor([2.0**-12, 2.0**8]).to(FORMATS[code].dtype)
    x = [spread[:1].repeat(900), spread[1:].repeat(90)]
    assert encode(x) == encode(x, exponents=bases_of(x, code)[0])
    assert same(decode(encode(x, exponents=bases_of(x, code)[1])), x)


@pytest.mark.parametrize("code", CODES)
def test_every_word_comes_back(code: FormatCode) -> None:
    """Alone, behind a gap, and in a block of which all are there."""
    every = np.arange(1 << 16)
    spread = np.zeros((1 << 16, 20), dtype=int)
    spread[:, 13] = every
    for words in (every, spread.reshape(-1)):
        for kept in (0, 3, FORMATS[code].mantissa_bits):
            x = tensor(words, code)
            assert same(decode(encode([x], mantissa_bits=kept)), [x])


@pytest.mark.parametrize("code", CODES)
@pytest.mark.parametrize(
    "words",
    [[], [0], [1], [0x8000], [0] * 5000, [0] * 4095 + [1], [0] * 4096 + [0x3C01], [0x3C00] * 9000],
    ids=["empty", "zero", "one", "minus zero", "zeros", "last", "first of a block", "dense"],
)
def test_corners(code: FormatCode, words: list[int]) -> None:
    x = tensor(words, code)
    frame = encode([x])
    assert same(decode(frame), [x]) and same(by_reference(frame), [x])


def test_the_sign_of_a_view_is_seen() -> None:
    x = torch.randn(50).bfloat16()
    assert torch.equal(decode(encode([torch._neg_view(x)]))[0], -x)


def test_exponents_above_the_base_are_escapes() -> None:
    """A base of the step before may be too small."""
    x = masked(4000, 0.1, FormatCode.BF16, 4)
    largest = int((x.view(torch.int16).int() >> 7 & 255).max())
    counts = [histogram([x], exponents=[largest - n])[0, -1] for n in range(3)]
    assert counts[0] == 0 < counts[1] < counts[2]
    assert same(decode(encode([x], exponents=[largest - 2], tables=[WIDE])), [x])


def test_the_slot_that_takes_fewer_bits_is_chosen() -> None:
    x = [masked(20_000, density, FormatCode.BF16, 1) for density in (0.4, 0.002)]
    counts = histogram(x)
    tables = [build_table(counts[n], floor=1) for n in (1, 0)]
    slots, bits = choose_slots(counts, tables, 7)
    assert slots.tolist() == [1, 0]
    bases = [int((part.view(torch.int16).int() >> 7 & 255).max()) for part in x]
    taken = [
        sum(map(len, elements(words_of(part), base, [*table.lengths], (8, 7), 7)))
        for part, base, table in zip(x, bases, tables[::-1], strict=True)
    ]
    assert bits == sum(taken)


def wrong(**options: object) -> dict[str, object]:
    return {"tensors": [torch.zeros(3).bfloat16()], **options}


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (wrong(tensors=[]), ValueError, "tensors must be at least one, not none"),
        (
            wrong(tensors=[torch.zeros(3)]),
            TypeError,
            r"dtype must be one of torch\.float16, .*float32",
        ),
        (
            wrong(tensors=[torch.zeros(3).half(), torch.zeros(3).bfloat16()]),
            TypeError,
            r"dtype must be the first tensor's, torch\.float16, not torch\.bfloat16",
        ),
        (wrong(tables=[]), ValueError, "tables must be one or two, not 0"),
        (wrong(tables=[WIDE] * 3), ValueError, "tables must be one or two, not 3"),
        (wrong(mantissa_bits=8), ValueError, "mantissa_bits must be from 0 to 7, not 8"),
        (wrong(tables=[2]), TypeError, "tables must be of CodeTable, not 2"),
        (wrong(mantissa_bits=3.5), TypeError, r"mantissa_bits must be a whole number, not 3\.5"),
        (wrong(mantissa_bits=True), TypeError, "mantissa_bits must be a whole number, not True"),
        (wrong(exponents=[127.5]), TypeError, r"exponent must be a whole number, not 127\.5"),
        (wrong(exponents=[255]), ValueError, "exponent must be from 0 to 254, not 255"),
        (wrong(exponents=[1, 2]), ValueError, "exponents must be as many as tensors, 1, not 2"),
        (
            wrong(tensors=[torch.zeros(1).half()] * 65536),
            ValueError,
            "regions must be from 0 to 65535, not 65536",
        ),
    ],
)
def test_wrong_arguments(arguments: dict, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        encode(**arguments)


def test_seeded_gradients_of_any_shape(seed: int) -> None:
    generator = random.Random(seed)
    for _ in range(20):
        code = generator.choice(CODES)
        x = [
            masked(generator.randrange(2, 9000), generator.choice([0.3, 0.1, 0.01]), code, seed + n)
            * 2.0 ** generator.randrange(-12, 12)
            for n in range(generator.randrange(1, 6))
        ]
        kept = generator.randrange(FORMATS[code].mantissa_bits + 1)
        x = [with_mantissa_bits(part, kept) for part in x]
        frame = encode(x, mantissa_bits=kept)
        assert same(decode(frame), x), f"seed {seed}"

"""Sizes of frames, of what they hold, and the tables that they are made with."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
import torch
from codec_tensors import masked, same, tensor

from adagrain.models.codec import (
    DEFAULT_TABLES,
    CodecError,
    build_table,
    coded_blocks,
    decode,
    encode,
    histogram,
    region_bytes,
    with_mantissa_bits,
)
from adagrain.models.interface.codec import BLOCK, TableNumber
from adagrain.models.interface.formats import FormatCode

CODES = (FormatCode.BF16, FormatCode.FP16)
WIDE, NARROW = DEFAULT_TABLES.values()


@pytest.mark.parametrize("code", CODES)
def test_a_frame_is_never_longer_than_raw_and_header(code: FormatCode) -> None:
    """Header, region headers, a length of 14 bits for each block, and the checksum."""
    generator = np.random.default_rng(3)
    for lengths in ([1], [4096], [4097, 3, 20_000], [17] * 40):
        for density in (1.0, 0.6, 0.3):
            x = [
                tensor(generator.integers(1, 1 << 16, n) * (generator.random(n) < density), code)
                for n in lengths
            ]
            blocks = sum(-(-n // BLOCK) for n in lengths)
            most = 2 * sum(lengths) + 12 + 6 * len(x) + (14 * blocks + 7) // 8 + 4
            for tables in (None, [WIDE], [WIDE, NARROW]):
                assert len(encode(x, tables=tables)) <= most


def test_a_stored_block_holds_the_elements_as_they_are() -> None:
    words = np.random.default_rng(1).integers(0, 1 << 16, 100)
    frame = encode([tensor(words)])
    assert words.astype("<u2").tobytes() in frame


def test_carried_tables_are_shorter_than_the_defaults_where_they_are_taken() -> None:
    x = [
        masked(50_000, 0.1, FormatCode.BF16, 1) * 2.0**-20,
        masked(50_000, 0.01, FormatCode.BF16, 2),
    ]
    own, defaults = encode(x), encode(x, tables=[WIDE, NARROW])
    assert len(own) < len(defaults)
    assert [*own[4:6]] == [TableNumber.CARRIED] * 2
    few = [masked(30, 0.1, FormatCode.BF16, 1)]
    assert encode(few) == encode(few, tables=[WIDE, NARROW])


def test_blocks_of_a_device_are_those_of_the_frame() -> None:
    x = torch.cat(
        [
            masked(BLOCK, 0.1, FormatCode.BF16, 1),
            torch.zeros(BLOCK).bfloat16(),
            torch.rand(50).bfloat16(),
        ]
    )
    x = torch.cat([x[: 2 * BLOCK], tensor(np.random.default_rng(2).integers(1, 1 << 16, 50))])
    base = int((x[:BLOCK].view(torch.int16).int() >> 7 & 255).max())
    blocks = coded_blocks(x, base, WIDE)
    assert blocks[1] == b"" and blocks[2] is None
    assert blocks[0] is not None
    assert encode([x], exponents=[base], tables=[WIDE])[:-4].endswith(
        blocks[0] + x[2 * BLOCK :].view(torch.uint8).numpy().tobytes()
    )


def test_bytes_of_each_region() -> None:
    """Those of its blocks: none of zeros, two of an element that is stored."""
    x = masked(3 * BLOCK + 5, 0.1, FormatCode.BF16, 1)
    zeros, stored = torch.zeros(2 * BLOCK).bfloat16(), tensor(np.arange(1, 60_000, 599))
    base = int((x.view(torch.int16).int() >> 7 & 255).max())
    blocks = coded_blocks(x, base, WIDE)
    coded = sum(len(block or b"") for block in blocks)
    frame = encode([x, zeros, x[:0], stored], exponents=[base, 0, 0, 99], tables=[WIDE])
    assert None not in blocks and len(stored) == 101
    assert region_bytes(frame) == [coded, 0, 0, 202]
    with pytest.raises(CodecError, match="elements of a frame must be at most 9"):
        region_bytes(frame, most=9)


def test_agreed_tables() -> None:
    x = [masked(3000, 0.1, FormatCode.BF16, 1)]
    table = build_table(histogram(x)[0], number=20, floor=1)
    frame = encode(x, tables=[table])
    assert same(decode(frame, tables=[table]), x)
    with pytest.raises(CodecError, match="table must be one of 2, 3, not 20"):
        decode(frame)
    other = build_table(histogram(x)[0], number=20, floor=100)
    with pytest.raises(CodecError, match="checksum must be 0x"):
        decode(frame, tables=[other])
    assert same(decode(frame, tables=[table, replace(other, number=21), table]), x)
    with pytest.raises(ValueError, match="tables must have a number each, not two of them 20"):
        decode(frame, tables=[table, other])
    with pytest.raises(ValueError, match="tables must have a number each, not two of them 20"):
        encode(x, tables=[table, other])


def test_fewer_mantissa_bits_take_fewer_bytes() -> None:
    x = masked(40_000, 0.1, FormatCode.BF16, 1)
    sizes = [len(encode([with_mantissa_bits(x, bits)], mantissa_bits=bits)) for bits in range(8)]
    nonzero = int((x != 0).sum())
    steps = [(b - a) * 8 / nonzero for a, b in pairwise(sizes)]
    assert all(0.95 < step < 1.6 for step in steps), steps

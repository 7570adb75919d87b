"""Single blocks, as a device takes them: what is found in any bytes, and decode tables."""

import random

import codec_reference as reference
import numpy as np
import pytest
from codec_tensors import masked, words_of

from adagrain.models.codec import DEFAULT_TABLES, CodeTable, coded_blocks, decoded_block
from adagrain.models.interface.codec import BlockOutcome
from adagrain.models.interface.formats import FORMATS, FormatCode

#: Blocks that are damaged.
BLOCKS = 2_000

WIDE, NARROW = DEFAULT_TABLES.values()


@pytest.mark.parametrize("code", [FormatCode.FP16, FormatCode.BF16])
def test_damaged_blocks_are_what_the_reference_finds(code: FormatCode, seed: int) -> None:
    generator, fmt = random.Random(seed), FORMATS[code]
    sizes = fmt.exponent_bits, fmt.mantissa_bits
    found = set()
    for number in range(BLOCKS):
        x = masked(60, generator.choice([0.1, 0.5]), code, seed + number)
        exponent, table = generator.choice([0, 2, fmt.bias]), generator.choice([WIDE, NARROW])
        raw = bytearray(coded_blocks(x, exponent, table)[0] or b"\xff")
        for _ in range(generator.randrange(4)):
            raw[generator.randrange(len(raw))] ^= 1 << generator.randrange(8)
        raw = raw[: generator.choice([len(raw), generator.randrange(len(raw) + 1)])]
        words, outcome = decoded_block(bytes(raw), 60, fmt, exponent, table)
        found.add(outcome)
        try:
            wanted = reference.words_of(
                bytes(raw), 60, exponent, [*table.lengths], sizes, fmt.mantissa_bits
            )
        except reference.RefusedError:
            assert outcome != BlockOutcome.FINE
        else:
            assert (words_of(words), outcome) == (wanted, BlockOutcome.FINE)
    assert found == {*BlockOutcome}


def test_what_follows_a_wrong_element_is_zero() -> None:
    x = masked(60, 0.9, FormatCode.BF16, 1)
    (raw,) = coded_blocks(x, 128, WIDE)
    words, outcome = decoded_block(raw[:40], 60, FORMATS[FormatCode.BF16], 128, WIDE)
    kept = int(np.flatnonzero(words_of(words))[-1]) + 1
    assert outcome == BlockOutcome.CUT
    assert words_of(words)[:kept] == words_of(x)[:kept] and 0 < kept < 40


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"fmt": FORMATS[FormatCode.FP32]}, ValueError, "fmt must be FP16 or BF16, not FP32"),
        ({"count": -4}, ValueError, "count must be from 0 to 4096, not -4"),
        ({"count": 4097}, ValueError, "count must be from 0 to 4096, not 4097"),
        ({"exponent": 255}, ValueError, "exponent must be from 0 to 254, not 255"),
        ({"exponent": 1.5}, TypeError, r"exponent must be a whole number, not 1\.5"),
        ({"mantissa_bits": 40}, ValueError, "mantissa_bits must be from 0 to 7, not 40"),
        ({"mantissa_bits": -3}, ValueError, "mantissa_bits must be from 0 to 7, not -3"),
    ],
)
def test_wrong_arguments(arguments: dict, error: type[Exception], message: str) -> None:
    fitting = {"raw": b"", "count": 4, "fmt": FORMATS[FormatCode.BF16], "exponent": 254}
    assert not decoded_block(**fitting, table=WIDE)[0].any()
    with pytest.raises(error, match=message):
        decoded_block(**fitting | arguments, table=WIDE)


@pytest.mark.parametrize("table", [WIDE, NARROW])
def test_decode_tables_have_what_begins_with_the_next_bits(table: CodeTable) -> None:
    codes = reference.codes_of([*table.lengths])
    for ahead, entry in enumerate(table.decoding.tolist()):
        code = f"{ahead:012b}"[: entry & 15]
        assert codes[code] == entry >> 4

"""The codec's page: its layouts, its example and its tables are those of the code."""

import re
from pathlib import Path

from codec_tensors import tensor, words_of

from adagrain.models.codec import DEFAULT_TABLES, CodeTable, decode, encode
from adagrain.models.interface.codec import GradientHeader, RegionHeader, TableNumber
from adagrain.models.interface.formats import FormatCode
from adagrain.models.interface.records import pack, size, unpack

PAGE = Path(__file__).parents[2] / "docs" / "codec.md"
WIDE, NARROW = DEFAULT_TABLES.values()


def test_headers_are_as_declared() -> None:
    frame = encode([tensor([0, 0x3F80] * 5000)], tables=[NARROW])
    head = unpack(GradientHeader, frame[: size(GradientHeader)])
    assert head == {
        "magic": 0x4741,
        "version": 1,
        "format": FormatCode.BF16,
        "mantissa_bits": 7,
        "table_0": TableNumber.NARROW,
        "table_1": TableNumber.NONE,
        "regions": 1,
        "length": len(frame),
    }
    region = unpack(RegionHeader, frame[12:18])
    assert region.keys() == {"count", "exponent", "width", "slot"}
    assert (region["count"], region["exponent"], region["slot"]) == (10_000, 127, 0)
    assert frame[12:18] == pack(RegionHeader, **region)


def test_example_of_the_page() -> None:
    page = PAGE.read_text()
    shown = bytes.fromhex("".join(re.findall(r"^    ((?:[0-9a-f]{2} ?)+) +\|", page, re.MULTILINE)))
    words = [0, 0, 0x3F80, 0, 0xBF00, 0x7F80, 0, 0, 0, 0, 0x3F20, 0, 0, 0, 0, 0, 0, 0, 0, 0]
    assert encode([tensor(words)], tables=[NARROW]) == shown
    assert words_of(decode(shown)[0]) == words


def test_carried_table_of_the_page() -> None:
    (shown,) = re.findall(r"^`((?:[0-9a-f]{2} ?){28})`\.$", PAGE.read_text(), re.MULTILINE)
    words = [0x3FC0, 0x3FC0, 0, 0, 0, 0, 0, 0]
    table = CodeTable(bytes([1, 2, *[0] * 414, 2]))
    assert encode([tensor(words)], tables=[table]) == bytes.fromhex(shown)
    assert words_of(decode(bytes.fromhex(shown))[0]) == words


def test_a_decoder_takes_upper_half_binades_without_mantissa_bits() -> None:
    """No encoder makes them."""
    frame = bytes.fromhex("41470102010001001b000000080000007f01010212803feefcd9b2")
    assert words_of(decode(frame)[0]) == [0x3FC0, 0, 0, 0, 0, 0, 0, 0]


def test_tables_of_the_page() -> None:
    rows = re.findall(
        r"^\| \d+ \| `([0-9a-f]{32})` \| `([0-9a-f]{32})` \|$", PAGE.read_text(), re.M
    )
    for column, table in zip(zip(*rows, strict=True), (WIDE, NARROW), strict=True):
        assert "".join(column) == "".join(f"{length:x}" for length in table.lengths[:-1])
        assert table.lengths[-1] == 12

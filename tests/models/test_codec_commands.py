"""Requests for the codec's units, byte by byte: blocks against strings of bits, and refusals."""

import codec_reference as reference
import pytest
from codec_tensors import masked, words_of

from adagrain.models.codec import DEFAULT_TABLES
from adagrain.models.device.commands import CommandModel
from adagrain.models.interface.codec import BlockOutcome
from adagrain.models.interface.configuration import configuration
from adagrain.models.interface.formats import STREAMED, FormatCode
from adagrain.models.interface.protocol import Status
from adagrain.models.interface.records import pack, unpack
from adagrain.models.interface.units.code_lengths import packed_lengths
from adagrain.models.interface.units.decoder import DecoderBegin, DecoderOpcode, DecoderRecord
from adagrain.models.interface.units.encoder import EncoderBegin, EncoderOpcode, EncoderRecord
from adagrain.models.interface.units.ranges import Range
from adagrain.models.interface.units.tensor_input import TensorOpcode

BUILT = configuration("tiny", formats=STREAMED, units=("statistics", "encoder", "decoder"))
WIDE, NARROW = DEFAULT_TABLES.values()
KEEP_ALL = (1 << 64) - 1
SOUND = {
    "count": 60,
    "format": FormatCode.BF16,
    "from_link": 1,
    "exponent": 129,
    "mantissa_bits": 7,
    "keep": KEEP_ALL,
}


def asked(model: CommandModel, opcode: int, payload: bytes = b"") -> tuple[Status, bytes]:
    status, *reply = model.execute(bytes([opcode]) + payload)
    return Status(status), bytes(reply)


def begin(**changes: int) -> bytes:
    return pack(EncoderBegin, **SOUND | changes)


@pytest.fixture
def model() -> CommandModel:
    """With a table in slot 0 of either unit."""
    made = CommandModel(BUILT)
    for opcode in (EncoderOpcode.TABLE, DecoderOpcode.TABLE):
        assert asked(made, opcode, packed_lengths(0, WIDE.lengths)) == (Status.OK, b"")
    return made


def test_a_block_is_what_a_string_of_bits_says(model: CommandModel) -> None:
    x = masked(60, 0.2, FormatCode.BF16, seed=4)
    raw = reference.raw_of(words_of(x))
    wanted = reference.block_bytes(words_of(x), 129, [*WIDE.lengths], (8, 7), 7)
    assert asked(model, EncoderOpcode.BEGIN, begin(to_port=1)) == (Status.OK, b"")
    assert asked(model, TensorOpcode.DATA, raw + bytes(-len(raw) % 16)) == (Status.OK, b"")
    status, record = asked(model, EncoderOpcode.END)
    assert status is Status.OK
    assert unpack(EncoderRecord, record) == {
        "count": 60,
        "coded": 12,
        "length": len(wanted),
        "given_up": 0,
    }
    words = -(-len(wanted) // 8)
    read = pack(Range, first=0, count=words)
    assert asked(model, EncoderOpcode.READ, read) == (Status.OK, wanted + bytes(-len(wanted) % 8))
    results = b"".join(word.to_bytes(4, "little") for word in model.take_results())
    assert results == wanted + bytes(-len(wanted) % 16)
    for first, count in ((0, words + 1), (words, 1), (0, 0), (1, words), (65535, 255)):
        read = pack(Range, first=first, count=count)
        assert asked(model, EncoderOpcode.READ, read) == (Status.BAD_VALUE, b"")


@pytest.mark.parametrize(
    ("changes", "status"),
    [
        ({"format": FormatCode.FP32}, Status.BAD_VALUE),
        ({"format": FormatCode.FP8_E4M3}, Status.UNSUPPORTED),
        ({"count": 0}, Status.BAD_VALUE),
        ({"count": 4097}, Status.BAD_VALUE),
        ({"count": 4096}, Status.OK),
        ({"exponent": 255}, Status.BAD_VALUE),
        ({"exponent": 254}, Status.OK),
        ({"mask_exponent": 255}, Status.BAD_VALUE),
        ({"mantissa_bits": 8}, Status.BAD_VALUE),
        ({"format": FormatCode.FP16, "exponent": 31}, Status.BAD_VALUE),
        ({"format": FormatCode.FP16, "exponent": 30, "mantissa_bits": 10}, Status.OK),
        ({"format": FormatCode.FP16, "exponent": 30, "mantissa_bits": 11}, Status.BAD_VALUE),
        ({"slot": 1}, Status.NO_TABLE),
    ],
)
def test_passes_that_cannot_be(
    model: CommandModel, changes: dict[str, int], status: Status
) -> None:
    assert asked(model, EncoderOpcode.BEGIN, begin(**changes)) == (status, b"")


@pytest.mark.parametrize(
    ("symbol", "length"), [(0, 1), (416, 11), (416, 13), (5, 15), (0, 0)], ids=str
)
def test_lengths_that_are_no_table(model: CommandModel, symbol: int, length: int) -> None:
    """The slot keeps the one that it has."""
    wrong = bytearray(NARROW.lengths)
    wrong[symbol] = length
    request = packed_lengths(0, bytes(wrong))
    assert asked(model, EncoderOpcode.TABLE, request) == (Status.BAD_VALUE, b"")
    assert model["encoder"]._tables[0].lengths == WIDE.lengths


def test_a_pass_keeps_tables_as_they_are(model: CommandModel) -> None:
    table = packed_lengths(1, NARROW.lengths)
    read = pack(Range, first=0, count=1)
    assert asked(model, EncoderOpcode.BEGIN, begin())[0] is Status.OK
    assert asked(model, EncoderOpcode.TABLE, table) == (Status.BUSY, b"")
    assert asked(model, EncoderOpcode.READ, read) == (Status.BAD_VALUE, b"")
    assert asked(model, EncoderOpcode.BEGIN, begin()) == (Status.BUSY, b"")
    assert asked(model, EncoderOpcode.END) == (Status.INCOMPLETE, b"")
    assert asked(model, EncoderOpcode.READ, read) == (Status.BAD_VALUE, b"")
    assert asked(model, EncoderOpcode.TABLE, table) == (Status.OK, b"")
    assert asked(model, EncoderOpcode.END) == (Status.NOT_STARTED, b"")


CODED = {
    "count": 10,
    "format": FormatCode.FP32,
    "from_link": 1,
    "exponent": 129,
    "mantissa_bits": 7,
    "elements": 60,
    "element_format": FormatCode.BF16,
}


def of_block(raw: bytes, **changes: int) -> bytes:
    words = -(-len(raw) // 4)
    fields = CODED | {"count": words, "spare": 4 * words - len(raw)} | changes
    return pack(DecoderBegin, **fields)


def test_elements_are_those_that_a_string_of_bits_was_made_of(model: CommandModel) -> None:
    x = masked(60, 0.2, FormatCode.BF16, seed=4)
    raw = reference.block_bytes(words_of(x), 129, [*WIDE.lengths], (8, 7), 7)
    noise = b"\xa5" * (-len(raw) % 4)
    data = (raw + noise).ljust(-(-len(raw) // 16) * 16, b"\0")
    assert asked(model, DecoderOpcode.BEGIN, of_block(raw, to_port=1)) == (Status.OK, b"")
    assert asked(model, TensorOpcode.DATA, data) == (Status.OK, b"")
    status, record = asked(model, DecoderOpcode.END)
    assert status is Status.OK
    assert unpack(DecoderRecord, record) == {"elements": 60, "outcome": BlockOutcome.FINE}
    wanted = reference.raw_of(words_of(x))
    read = pack(Range, first=0, count=15)
    assert asked(model, DecoderOpcode.READ, read) == (Status.OK, wanted)
    results = b"".join(word.to_bytes(4, "little") for word in model.take_results())
    assert results == wanted + bytes(8)
    read = pack(Range, first=0, count=16)
    assert asked(model, DecoderOpcode.READ, read) == (Status.BAD_VALUE, b"")


def test_no_element_of_a_damaged_block_is_there(model: CommandModel) -> None:
    x = masked(60, 0.9, FormatCode.BF16, seed=4)
    raw = reference.block_bytes(words_of(x), 129, [*WIDE.lengths], (8, 7), 7)[:40]
    assert asked(model, DecoderOpcode.BEGIN, of_block(raw, to_port=1)) == (Status.OK, b"")
    assert asked(model, TensorOpcode.DATA, raw + bytes(8)) == (Status.OK, b"")
    status, record = asked(model, DecoderOpcode.END)
    assert unpack(DecoderRecord, record) == {"elements": 0, "outcome": BlockOutcome.CUT}
    assert status is Status.OK and model.take_results() == []
    read = pack(Range, first=0, count=1)
    assert asked(model, DecoderOpcode.READ, read) == (Status.BAD_VALUE, b"")


@pytest.mark.parametrize(
    ("changes", "status"),
    [
        ({"format": FormatCode.BF16}, Status.BAD_VALUE),
        ({"element_format": FormatCode.FP32}, Status.BAD_VALUE),
        ({"elements": 0}, Status.BAD_VALUE),
        ({"elements": 4096}, Status.OK),
        ({"elements": 4097}, Status.BAD_VALUE),
        ({"count": 0}, Status.BAD_VALUE),
        ({"count": 0, "spare": 3}, Status.BAD_VALUE),
        ({"count": 2048, "spare": 1}, Status.OK),
        ({"count": 2048}, Status.BAD_VALUE),
        ({"count": 2049, "spare": 3}, Status.BAD_VALUE),
        ({"exponent": 255}, Status.BAD_VALUE),
        ({"mantissa_bits": 8}, Status.BAD_VALUE),
        ({"element_format": FormatCode.FP16, "exponent": 31}, Status.BAD_VALUE),
        ({"element_format": FormatCode.FP16, "exponent": 30}, Status.OK),
        ({"slot": 1}, Status.NO_TABLE),
    ],
)
def test_blocks_that_cannot_be(
    model: CommandModel, changes: dict[str, int], status: Status
) -> None:
    begin = pack(DecoderBegin, **CODED | changes)
    assert asked(model, DecoderOpcode.BEGIN, begin) == (status, b"")


def test_units_send_in_the_order_of_their_requests(model: CommandModel) -> None:
    """Whichever of them comes first among the units."""
    x = masked(60, 0.2, FormatCode.BF16, seed=4)
    elements = reference.raw_of(words_of(x))
    raw = reference.block_bytes(words_of(x), 129, [*WIDE.lengths], (8, 7), 7)
    passes = {
        DecoderOpcode: (of_block(raw, to_port=1), raw + bytes(-len(raw) % 16)),
        EncoderOpcode: (begin(to_port=1), elements + bytes(-len(elements) % 16)),
    }
    for opcodes, (record, data) in passes.items():
        assert asked(model, opcodes.BEGIN, record) == (Status.OK, b"")
        assert asked(model, TensorOpcode.DATA, data) == (Status.OK, b"")
        assert asked(model, opcodes.END)[0] is Status.OK
    sent = b"".join(word.to_bytes(4, "little") for word in model.take_results())
    assert sent == passes[EncoderOpcode][1] + passes[DecoderOpcode][1]

"""``decoder``: a coded block to its elements, by one of two tables."""

import enum

from amaranth.hdl import unsigned
from amaranth.lib import data

from adagrain.models.interface.codec import BlockOutcome

from .code_lengths import WORD_BYTES, CodeLengths
from .operation import Operation, Payload
from .ranges import Range
from .register import Register
from .tensor_input import TENSOR_FIELDS
from .unit import Unit

__all__ = ["CODED_WORD", "DECODER", "DecoderBegin", "DecoderOpcode", "DecoderRecord"]

#: Bytes in which coded blocks come: elements of FP32, whatever they hold.
CODED_WORD = 4

#: Start of a pass over a coded block. ``exponent`` is a field of the elements' format.
DecoderBegin = data.StructLayout(
    {
        **TENSOR_FIELDS,  # of as many elements of FP32 as words
        "from_link": unsigned(1),  # these come in requests, not by the data port
        "to_port": unsigned(1),  # elements leave by the data port, in beats of 16 bytes
        "slot": unsigned(1),  # of its table
        "_reserved": unsigned(1),
        "mantissa_bits": unsigned(4),  # of each coded element
        "exponent": unsigned(8),  # base of the code
        "elements": unsigned(16),  # of the block
        "element_format": unsigned(8),  # `FormatCode`
        "spare": unsigned(2),  # bytes of the last word that are not the block's
        "_reserved2": unsigned(6),
    }
)

#: What has become of a coded block.
DecoderRecord = data.StructLayout(
    {
        "elements": unsigned(16),  # that are there; 0 where anything is wrong
        "outcome": unsigned(8),  # `BlockOutcome`
    }
)


class DecoderOpcode(enum.IntEnum):
    """Operations of ``decoder``."""

    TABLE = 0x70
    BEGIN = 0x71
    END = 0x72
    READ = 0x73


DECODER = Unit(
    name="decoder",
    group=7,
    about="makes the elements of a coded block, or tells what is wrong with it",
    operations=(
        Operation(
            DecoderOpcode.TABLE,
            Payload(CodeLengths),
            Payload(),
            "puts a table into a slot; one that is no code is refused, and the slot keeps its own",
        ),
        Operation(DecoderOpcode.BEGIN, Payload(DecoderBegin), Payload(), "begins a pass"),
        Operation(
            DecoderOpcode.END,
            Payload(),
            Payload(DecoderRecord),
            "ends the pass, when the elements have left by the data port, or can be read",
        ),
        Operation(
            DecoderOpcode.READ,
            Payload(Range),
            Payload(items=unsigned(8 * WORD_BYTES), least=1),
            "reads words of the elements of the last pass, until the next one begins",
        ),
    ),
    registers=(
        Register("decoded", "elements of all passes that have ended", bits=64, sums="elements"),
    ),
    records={
        "CodeLengths": CodeLengths,
        "DecoderBegin": DecoderBegin,
        "DecoderRecord": DecoderRecord,
    },
    enums=(BlockOutcome,),
    tensors=("words",),
    passes=(DecoderOpcode.BEGIN, DecoderOpcode.END),
    sends=True,
    gateware="adagrain.hdl.codec.decoder_commands:DecoderCommands",
    twin="adagrain.models.codec.commands:DecoderCommands",
)

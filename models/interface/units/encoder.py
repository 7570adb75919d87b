"""``encoder``: a block of a gradient to a coded block, by a mask and one of two tables."""

import enum

from amaranth.hdl import unsigned
from amaranth.lib import data

from adagrain.models.interface.formats import FormatCode

from .code_lengths import WORD_BYTES, CodeLengths
from .operation import Operation, Payload
from .ranges import Range
from .register import Register
from .statistics import BINS
from .tensor_input import TENSOR_FIELDS
from .unit import Unit

__all__ = [
    "ENCODER",
    "EncoderBegin",
    "EncoderOpcode",
    "EncoderRecord",
]

#: Start of a pass over a block. Exponents are fields of the elements' own format.
EncoderBegin = data.StructLayout(
    {
        **TENSOR_FIELDS,
        "from_link": unsigned(1),  # the elements come in requests, not by the data port
        "to_port": unsigned(1),  # the coded block leaves by the data port, in beats of 16 bytes
        "slot": unsigned(1),  # of its table
        "_reserved": unsigned(1),
        "mantissa_bits": unsigned(4),  # of each coded element
        "exponent": unsigned(8),  # base of the code
        "mask_exponent": unsigned(8),  # base of the mask
        "keep": unsigned(BINS),  # for each bin of the mask: its elements are kept
    }
)

#: What has become of a block.
EncoderRecord = data.StructLayout(
    {
        "count": unsigned(16),  # elements
        "coded": unsigned(16),  # of these, the ones that are not +0 behind the mask
        "length": unsigned(16),  # bytes of the coded block; 0 where it was given up
        "given_up": unsigned(1),  # it would not take fewer bytes than its elements
        "_reserved": unsigned(7),
    }
)


class EncoderOpcode(enum.IntEnum):
    """Operations of ``encoder``."""

    TABLE = 0x60
    BEGIN = 0x61
    END = 0x62
    READ = 0x63


ENCODER = Unit(
    name="encoder",
    group=6,
    about="masks a block of a gradient, and codes what is left of it",
    operations=(
        Operation(
            EncoderOpcode.TABLE,
            Payload(CodeLengths),
            Payload(),
            "puts a table into a slot; one that is no code is refused, and the slot keeps its own",
        ),
        Operation(EncoderOpcode.BEGIN, Payload(EncoderBegin), Payload(), "begins a pass"),
        Operation(
            EncoderOpcode.END,
            Payload(),
            Payload(EncoderRecord),
            "ends the pass, when the coded block has left by the data port, or can be read",
        ),
        Operation(
            EncoderOpcode.READ,
            Payload(Range),
            Payload(items=unsigned(8 * WORD_BYTES), least=1),
            "reads words of the coded block of the last pass, until the next one begins",
        ),
    ),
    registers=(
        Register("encoded", "elements of all passes that have ended", bits=64, sums="count"),
        Register("encoded_bytes", "bytes of their coded blocks", bits=64, sums="length"),
    ),
    records={
        "CodeLengths": CodeLengths,
        "EncoderBegin": EncoderBegin,
        "EncoderRecord": EncoderRecord,
    },
    tensors=("x",),
    formats=(FormatCode.BF16,),  # as which elements of 16 bits come as they are
    passes=(EncoderOpcode.BEGIN, EncoderOpcode.END),
    sends=True,
    gateware="adagrain.hdl.codec.encoder_commands:EncoderCommands",
    twin="adagrain.models.codec.commands:EncoderCommands",
)

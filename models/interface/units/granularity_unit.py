"""``granularity_unit``: tiles of matrix products from packed operands."""

import enum

from amaranth.hdl import signed, unsigned
from amaranth.lib import data

from adagrain.models.interface.precision import WORD

from .ranges import First
from .unit import Operation, Payload, Register, Unit

__all__ = ["GRANULARITY_UNIT", "ROWS", "TileOpcode", "TileResult", "TileRun"]

#: Rows of a tile: as many sums as hide the latency of an adder.
ROWS = 8

#: A run of the granularity unit over words of its operand memories.
TileRun = data.StructLayout(
    {
        "a_first": unsigned(16),  # word of the first row, from the start of the memory of ``a``
        "b_first": unsigned(16),  # word of each column, from the start of its slice's memory
        "words": unsigned(16),  # words of each row and column
        "rows": unsigned(4),  # 1 to 8
        "mode": unsigned(2),  # `Precision`
        "first": unsigned(1),  # sums begin; otherwise they go on
        "last": unsigned(1),  # sums end, and are sent
        "scaled": unsigned(1),  # they are rescaled, and sent in packed words
        "to": unsigned(2),  # `Precision` of these
        "_reserved": unsigned(5),
    }
)

#: An element of a tile, or a word of a run that is ``scaled``.
TileResult = data.StructLayout(
    {
        # FP32, FP16 with zeros above, or an integer of 32 bits; or numbers, little end first
        "word": unsigned(32),
        "flags": unsigned(8),  # exception flags; an integer that wrapped around has OVERFLOW
    }
)


class TileOpcode(enum.IntEnum):
    """What ``granularity_unit`` can be asked for."""

    WRITE = 0x30
    RUN = 0x31
    SCALES = 0x32


GRANULARITY_UNIT = Unit(
    name="granularity_unit",
    group=3,
    about="tiles of matrix products in FP32, FP16, INT8 or INT4",
    operations=(
        Operation(
            TileOpcode.WRITE,
            Payload(First, unsigned(WORD), least=1),
            Payload(),
            "writes words of the operand memories",
        ),
        Operation(
            TileOpcode.RUN,
            Payload(TileRun),
            Payload(items=TileResult),
            "multiplies; where the sums end, they are sent",
        ),
        Operation(
            TileOpcode.SCALES,
            Payload(items=signed(8), least=1),
            Payload(),
            "sets the exponent of each slice, for runs that are `scaled`",
        ),
    ),
    registers=(
        Register("slices", "slices that were built", constant=lambda c: c.slices),
        Register("operands", "words of each operand memory", constant=lambda c: c.operands),
        Register("tile_words", "pairs of words of all accepted runs, each slice's, modulo 2^32"),
    ),
    records={"TileRun": TileRun, "TileResult": TileResult},
    needs=("region_manager",),
    gateware="adagrain.hdl.granularity_unit.commands:TileCommands",
    twin="adagrain.models.granularity_unit.commands:TileCommands",
)

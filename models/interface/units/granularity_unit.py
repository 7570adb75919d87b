"""``granularity_unit``: tiles of matrix products from packed operands."""

import enum

from amaranth.hdl import signed, unsigned
from amaranth.lib import data

from .operation import Operation, Payload
from .register import Register
from .tensor_input import TENSOR_FIELDS
from .unit import Unit

__all__ = [
    "GRANULARITY_UNIT",
    "ROWS",
    "Destination",
    "TileLoad",
    "TileLoaded",
    "TileOpcode",
    "TileResult",
    "TileRun",
    "TileSettled",
]

#: Rows of a tile: as many sums as hide the latency of an adder.
ROWS = 8


class Destination(enum.IntEnum):
    """Destination of a run's results."""

    LINK = 0  #: into its reply
    PORT = 1  #: out of the data port: each in eight bytes, `TileResult` and three zeros
    MEMORY = 2  #: into the memory of ``a``, as operands of runs to come


#: Begins a pass that brings operands.
TileLoad = data.StructLayout(
    {
        **TENSOR_FIELDS,  # as many elements of FP32 as words, whatever these hold
        "from_link": unsigned(1),
        "_reserved": unsigned(7),
        "address": unsigned(16),  # of the first word, over all memories: that of ``a`` comes first
    }
)

#: Ends it.
TileLoaded = data.StructLayout({"words": unsigned(32)})

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
        "destination": unsigned(2),  # `Destination` of its results
        "_reserved": unsigned(3),
        # word of the first result in the memory of ``a``, where they go there: word by word of the
        # rows, as operands lie, and none of this run's
        "to_first": unsigned(16),
    }
)

#: What has become of results that did not go into replies.
TileSettled = data.StructLayout(
    {"flags": unsigned(8)}  # raised by any that went into the memory since this was last asked
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
    """Operations of ``granularity_unit``."""

    LOAD = 0x30
    LOADED = 0x31
    RUN = 0x32
    SCALES = 0x33
    SETTLE = 0x34


GRANULARITY_UNIT = Unit(
    name="granularity_unit",
    group=3,
    about="tiles of matrix products in FP32, FP16, INT8 or INT4",
    operations=(
        Operation(
            TileOpcode.LOAD,
            Payload(TileLoad),
            Payload(),
            "begins a pass that brings words of the operand memories",
        ),
        Operation(
            TileOpcode.LOADED,
            Payload(),
            Payload(TileLoaded),
            "ends it; words of a pass that is given up become 0",
        ),
        Operation(
            TileOpcode.RUN,
            Payload(TileRun),
            Payload(items=TileResult),
            "multiplies; where the sums end, they go to the run's destination",
        ),
        Operation(
            TileOpcode.SCALES,
            Payload(items=signed(8), least=1),
            Payload(),
            "sets the exponent of each slice, for runs that are `scaled`",
        ),
        Operation(
            TileOpcode.SETTLE,
            Payload(),
            Payload(TileSettled),
            "waits until the results of all runs are where they belong",
        ),
    ),
    registers=(
        Register("slices", "slices that were built", constant=lambda c: c.slices),
        Register("operands", "words of each operand memory", constant=lambda c: c.operands),
        Register("tile_words", "pairs of words of all accepted runs, each slice's, modulo 2^32"),
    ),
    records={
        "TileLoad": TileLoad,
        "TileLoaded": TileLoaded,
        "TileRun": TileRun,
        "TileResult": TileResult,
        "TileSettled": TileSettled,
    },
    enums=(Destination,),
    tensors=("words",),
    passes=(TileOpcode.LOAD, TileOpcode.LOADED),
    needs=("region_manager",),
    sends=True,
    gateware="adagrain.hdl.granularity_unit.commands:TileCommands",
    twin="adagrain.models.granularity_unit.commands:TileCommands",
)

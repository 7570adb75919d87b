"""``statistics``: one pass over a tensor."""

import enum

from amaranth.hdl import signed, unsigned
from amaranth.lib import data

from .operation import Operation, Payload
from .ranges import ByteRange
from .register import Register
from .tensor_input import TENSOR_FIELDS
from .unit import Unit

__all__ = [
    "BINS",
    "LARGEST_Q",
    "RAW_BINS",
    "STATISTICS",
    "HistogramBin",
    "StatisticsBegin",
    "StatisticsOpcode",
    "StatisticsRecord",
]

#: Bins of the histogram after read-out: half binades below the largest exponent.
BINS = 64

#: Bins before read-out: exponent field and top bit of the significand.
RAW_BINS = 512

#: Largest magnitude of a quantised element.
LARGEST_Q = 32767

#: Start of a pass over a tensor. ``exponent`` is the shared exponent E, biased by 127 (1…254).
StatisticsBegin = data.StructLayout(
    {
        **TENSOR_FIELDS,
        "exponent": unsigned(8),
        "histogram": unsigned(1),
        "from_link": unsigned(1),  # the tensor comes in requests, not by the data port
        "_reserved": unsigned(14),
    }
)

#: Result of a pass. ``minimum`` and ``maximum`` are FP32 words; exponents are biased by 127.
StatisticsRecord = data.StructLayout(
    {
        "count": unsigned(32),
        "nan": unsigned(32),
        "positive_infinity": unsigned(32),
        "negative_infinity": unsigned(32),
        "zero": unsigned(32),
        "saturated": unsigned(32),
        "minimum": unsigned(32),
        "maximum": unsigned(32),
        "largest_exponent": unsigned(8),  # of finite elements; 0 where all are zero or subnormal
        "exponent": unsigned(8),  # the E of the pass
        "none_finite": unsigned(1),  # minimum and maximum are then 0
        "overflow": unsigned(1),  # more elements than ``count`` can hold: no sum is to be used
        "_reserved": unsigned(14),
        "s1": signed(64),
        "s2": unsigned(64),
        "s3": signed(96),
        "s4": unsigned(96),
    }
)

#: One bin after read-out: bin 0 is the upper half of the largest binade, bin 63 takes the rest.
HistogramBin = data.StructLayout({"count": unsigned(32), "energy": unsigned(48)})


class StatisticsOpcode(enum.IntEnum):
    """Operations of ``statistics``."""

    BEGIN = 0x10
    END = 0x12
    HISTOGRAM = 0x13


STATISTICS = Unit(
    name="statistics",
    group=1,
    about="counts, extremes, exact power sums and a histogram of a tensor, in one pass",
    operations=(
        Operation(StatisticsOpcode.BEGIN, Payload(StatisticsBegin), Payload(), "begins a pass"),
        Operation(
            StatisticsOpcode.END,
            Payload(),
            Payload(StatisticsRecord),
            "ends the pass, when all elements are in",
        ),
        Operation(
            StatisticsOpcode.HISTOGRAM,
            Payload(ByteRange),
            Payload(items=HistogramBin, least=1),
            "reads bins of the histogram of the last pass that had one",
        ),
    ),
    registers=(
        Register("lanes", "elements that it takes per cycle", constant=lambda c: c.lanes),
        Register("powers", "highest power sum", constant=lambda c: c.powers),
        Register(
            "histogram", "1 where the histogram was built", constant=lambda c: int(c.histogram)
        ),
        Register("elements", "elements of all passes that have ended", bits=64, sums="count"),
    ),
    records={
        "StatisticsBegin": StatisticsBegin,
        "StatisticsRecord": StatisticsRecord,
        "HistogramBin": HistogramBin,
    },
    tensors=("x",),
    passes=(StatisticsOpcode.BEGIN, StatisticsOpcode.END),
    gateware="adagrain.hdl.statistics.commands:StatisticsCommands",
    twin="adagrain.models.statistics.commands:StatisticsCommands",
)

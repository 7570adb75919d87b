"""``precision_controller``: which precision each channel group computes in."""

import enum

from amaranth.hdl import unsigned
from amaranth.lib import data

from .operation import Operation, Payload
from .ranges import First, Range
from .table import Table
from .unit import Unit

__all__ = [
    "PRECISION_CONTROLLER",
    "PrecisionDecision",
    "PrecisionOpcode",
    "PrecisionRecord",
    "PrecisionUpdate",
]

#: What the precision controller knows of a channel group. Ranks go from 0, INT4, to 3, FP32.
PrecisionRecord = data.StructLayout(
    {
        "above_int4": unsigned(16),  # normalised variance above which INT4 does not do, Q0.16
        "above_int8": unsigned(16),
        "above_fp16": unsigned(16),
        "hysteresis": unsigned(16),  # how far a threshold must be passed, Q0.16
        "wanted": unsigned(2),  # rank that it asks for
        "floor": unsigned(2),  # ranks that resources allow
        "ceiling": unsigned(2),
        "_reserved": unsigned(2),
        "dwell": unsigned(8),  # updates for which ``wanted`` stays
        "dwell_length": unsigned(8),  # updates for which it stays after a change
        "_reserved2": unsigned(8),
        "switches": unsigned(16),  # changes of ``wanted``, modulo 2**16
        "overrides": unsigned(16),  # updates in which the bounds prevailed, modulo 2**16
    }
)

#: What is told of a channel group's input.
PrecisionUpdate = data.StructLayout(
    {
        "channel_group": unsigned(16),
        "variance": unsigned(32),  # of the elements, in units of ``square``
        "square": unsigned(32),  # of the largest magnitude
        "_reserved": unsigned(48),
    }
)

#: What the precision controller answers.
PrecisionDecision = data.StructLayout(
    {
        "channel_group": unsigned(16),
        "normalised_variance": unsigned(16),  # variance over square, Q0.16
        "precision": unsigned(2),  # `Precision`
        "wanted": unsigned(2),  # rank
        "switched": unsigned(1),  # ``wanted`` has changed
        "overridden": unsigned(1),  # the bounds prevailed
        "unknown": unsigned(1),  # no such channel group: nothing has changed, the rest is 0
        "_reserved": unsigned(1),
    }
)


class PrecisionOpcode(enum.IntEnum):
    """Operations of ``precision_controller``."""

    WRITE = 0x40
    READ = 0x41
    STEP = 0x42


PRECISION_CONTROLLER = Unit(
    name="precision_controller",
    group=4,
    about="a precision for each channel group, by the normalised variance of what it sees",
    operations=(
        Operation(
            PrecisionOpcode.WRITE,
            Payload(First, PrecisionRecord, least=1),
            Payload(),
            "writes records of the table",
        ),
        Operation(
            PrecisionOpcode.READ,
            Payload(Range),
            Payload(items=PrecisionRecord, least=1),
            "reads records of the table",
        ),
        Operation(
            PrecisionOpcode.STEP,
            Payload(items=PrecisionUpdate, least=1),
            Payload(items=PrecisionDecision, least=1),
            "takes variances, and decides on each",
        ),
    ),
    records={
        "PrecisionRecord": PrecisionRecord,
        "PrecisionUpdate": PrecisionUpdate,
        "PrecisionDecision": PrecisionDecision,
    },
    table=Table(
        record=PrecisionRecord,
        number="channel_group",
        entries=lambda c: c.regions,
        write=PrecisionOpcode.WRITE,
        read=PrecisionOpcode.READ,
        step=PrecisionOpcode.STEP,
        model="adagrain.models.precision_controller.table:PrecisionTable",
    ),
    needs=("granularity_unit",),
    gateware="adagrain.hdl.precision_controller.commands:PrecisionCommands",
    twin="adagrain.models.precision_controller.commands:PrecisionCommands",
)

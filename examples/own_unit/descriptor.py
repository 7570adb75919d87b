"""Description of the unit, as data."""

import enum

from amaranth.hdl import unsigned
from amaranth.lib import data

from adagrain.models.interface.units import Operation, Payload, Register, Unit
from adagrain.models.interface.units.tensor_input import TENSOR_FIELDS

__all__ = ["LARGE", "LargeBegin", "LargeOpcode", "LargeRecord"]

#: Start of a pass. ``threshold`` is a positive FP32 word.
LargeBegin = data.StructLayout(
    {
        **TENSOR_FIELDS,
        "_reserved": unsigned(7),
        "from_link": unsigned(1),
        "_reserved2": unsigned(16),
        "threshold": unsigned(32),
    }
)

#: Its result: elements, and those whose magnitude is not below the threshold, NaN among them.
LargeRecord = data.StructLayout({"count": unsigned(32), "large": unsigned(32)})


class LargeOpcode(enum.IntEnum):
    """Operations of the unit."""

    BEGIN = 0xA0
    END = 0xA1


LARGE = Unit(
    name="large",
    group=0xA,
    about="elements of a tensor that are not small",
    operations=(
        Operation(LargeOpcode.BEGIN, Payload(LargeBegin), Payload(), "begins a pass"),
        Operation(LargeOpcode.END, Payload(), Payload(LargeRecord), "ends it"),
    ),
    registers=(Register("large_in_all", "large elements of all passes", bits=64, sums="large"),),
    records={"LargeBegin": LargeBegin, "LargeRecord": LargeRecord},
    tensors=("x",),
    passes=(LargeOpcode.BEGIN, LargeOpcode.END),
    core="own_unit.gateware:Large",
    trial={"threshold": 0x3F80_0000},
    twin="own_unit.twin:LargeModel",
    bench="own_unit",
)

"""What encoder and decoder exchange with the rest of a device, and with each other."""

from amaranth.hdl import unsigned
from amaranth.lib import data

from adagrain.hdl.stream.packet import check_lanes
from adagrain.models.interface.codec import LONGEST_CODE, SLOTS, SYMBOLS

__all__ = ["CODED_BYTES", "Code", "CodeWrite", "Coded", "RegionParameters", "elements_layout"]

#: Bytes of coded blocks that travel in one cycle.
CODED_BYTES = 8

#: Bytes of a coded block, in their order; all bits of byte 0 come before those of byte 1.
Coded = data.ArrayLayout(unsigned(8), CODED_BYTES)

#: How the elements of a region are coded.
RegionParameters = data.StructLayout(
    {
        "exponent": unsigned(8),  # base: bins are counted down from its binade
        "mantissa_bits": unsigned(4),  # of each coded element: at most those of the format
        "bf16": unsigned(1),  # elements are BF16, otherwise FP16
        "slot": range(SLOTS),  # of its table
    }
)

#: A symbol's code, right-aligned; ``length`` is 0 where it has none.
Code = data.StructLayout({"length": unsigned(4), "code": unsigned(LONGEST_CODE)})

#: What is written into a code table.
CodeWrite = data.StructLayout(
    {"slot": range(SLOTS), "symbol": range(SYMBOLS), "code": Code}
)


def elements_layout(lanes: int) -> data.StructLayout:
    """Elements of 16 bits that travel in one cycle.

    Members
    -------
    data : ``ArrayLayout(16, lanes)``
        The first element in lane 0.
    keep : ``unsigned(lanes)``
        Lanes that hold an element; only the last beat of a region may be partial.
    last : ``unsigned(1)``
        The region's last beat.
    """
    check_lanes(lanes)
    return data.StructLayout(
        {
            "data": data.ArrayLayout(unsigned(16), lanes),
            "keep": unsigned(lanes),
            "last": unsigned(1),
        }
    )

"""Layouts that encoder and decoder share: elements, parameters of regions, bytes of blocks."""

from amaranth.hdl import unsigned
from amaranth.lib import data

from adagrain.hdl.stream.packet import check_lanes
from adagrain.models.interface.codec import ELEMENT_BITS, GAP_BITS, SLOTS

__all__ = [
    "CODED_BYTES",
    "TAIL_BITS",
    "Coded",
    "RegionParameters",
    "elements_layout",
]

#: The most bits behind an element's code: those of an escape, its gap and the element.
TAIL_BITS = GAP_BITS + ELEMENT_BITS

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
            "data": data.ArrayLayout(unsigned(ELEMENT_BITS), lanes),
            "keep": unsigned(lanes),
            "last": unsigned(1),
        }
    )

"""What encoder and decoder exchange with the rest of a device, and with each other."""

import enum

from amaranth.hdl import unsigned
from amaranth.lib import data

from adagrain.hdl.stream.packet import check_lanes
from adagrain.models.interface.codec import BLOCK, GAP_BITS, LONGEST_CODE, SLOTS, SYMBOLS

__all__ = [
    "BEHIND",
    "CODED_BYTES",
    "COLUMN",
    "Block",
    "Code",
    "CodeWrite",
    "Coded",
    "CodedElement",
    "DecodeWrite",
    "Element",
    "Kind",
    "RegionParameters",
    "elements_layout",
]

#: Bytes of coded blocks that travel in one cycle.
CODED_BYTES = 8

#: Bits of a fourth of these bytes.
COLUMN = 8 * CODED_BYTES // 4

#: Bits behind an escape's code: gap and element.
BEHIND = GAP_BITS + 16

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
CodeWrite = data.StructLayout({"slot": range(SLOTS), "symbol": range(SYMBOLS), "code": Code})

#: What is written into a decode table, as ``CodeTable.decoding`` has it by the next 12 bits.
DecodeWrite = data.StructLayout(
    {
        "slot": range(SLOTS),
        "ahead": unsigned(LONGEST_CODE),  # the next bits
        "length": unsigned(4),  # bits of the code that they begin with
        "symbol": range(SYMBOLS),
    }
)

#: A coded block, whose bytes follow.
Block = data.StructLayout(
    {
        "count": range(BLOCK + 1),  # elements, at least 1
        "length": range(2 * BLOCK),  # bytes; 0: all elements are +0
        "last": unsigned(1),  # it is its region's last one
    }
)


class Kind(enum.IntEnum):
    """What the parts of the decoder hand on."""

    BEGIN = 0  #: a block begins: its last place for a gap, its region's end for a word
    ELEMENT = 1
    END = 2  #: a block ends: +0 up to its last place
    CUT = 3  #: the same, where bits are missing


#: An element's symbol and the bits behind its code, its last one lowest but for those in excess.
CodedElement = data.StructLayout(
    {
        "kind": Kind,
        "symbol": range(SYMBOLS),
        "bits": unsigned(BEHIND + COLUMN - 1),
        "excess": range(COLUMN),
    }
)

#: An element, and how many +0 stand before it.
Element = data.StructLayout(
    {
        "kind": Kind,
        "word": unsigned(16),
        "gap": unsigned(GAP_BITS),
        "below": unsigned(1),  # its bin is larger than 2 · base + 1
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
            "data": data.ArrayLayout(unsigned(16), lanes),
            "keep": unsigned(lanes),
            "last": unsigned(1),
        }
    )

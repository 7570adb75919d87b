"""Records that the parts of the decoder hand on."""

import enum

from amaranth.hdl import unsigned
from amaranth.lib import data

from adagrain.models.interface.codec import BLOCK, GAP_BITS, LONGEST_CODE, SLOTS, SYMBOLS

from .layouts import CODED_BYTES, ELEMENT_BITS, TAIL_BITS

__all__ = [
    "COLUMN",
    "Block",
    "CodedElement",
    "DecodeWrite",
    "Element",
    "Kind",
]

#: Bits of a fourth of the bytes that travel in one cycle.
COLUMN = 8 * CODED_BYTES // 4

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
    """Kind of a record that the parts of the decoder hand on."""

    BEGIN = 0  #: a block begins: its last place for a gap, its region's end for a word
    ELEMENT = 1
    END = 2  #: a block ends: +0 up to its last place
    CUT = 3  #: the same, where bits are missing


#: An element's symbol and the bits behind its code, its last one lowest but for those in excess.
CodedElement = data.StructLayout(
    {
        "kind": Kind,
        "symbol": range(SYMBOLS),
        "bits": unsigned(TAIL_BITS + COLUMN - 1),
        "excess": range(COLUMN),
    }
)

#: An element, and how many +0 stand before it.
Element = data.StructLayout(
    {
        "kind": Kind,
        "word": unsigned(ELEMENT_BITS),
        "gap": unsigned(GAP_BITS),
        "below": unsigned(1),  # its bin is larger than 2 · base + 1
    }
)

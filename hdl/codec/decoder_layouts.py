"""Records that the parts of the decoder hand on."""

import enum

from amaranth.hdl import unsigned
from amaranth.lib import data

from adagrain.models.interface.codec import (
    BLOCK,
    ELEMENT_BITS,
    GAP_BITS,
    LONGEST_CODE,
    SLOTS,
    SYMBOLS,
)

from .layouts import CODED_BYTES, TAIL_BITS

__all__ = [
    "COLUMN",
    "Block",
    "BlockStart",
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

    ELEMENT = 0
    LAST = 1  #: an element, behind which its block has +0 up to its last place
    END = 2  #: a block that has no element
    CUT = 3  #: no element, and the block ends: its bits do within an element


#: What the first record of a block tells of it.
BlockStart = data.StructLayout(
    {
        "begins": unsigned(1),  # it is the first one; in others the rest means nothing
        "final": range(BLOCK),  # the block's last place
        "closes": unsigned(1),  # it is its region's last one
    }
)

#: An element's symbol and the bits behind its code, its last one lowest but for those in excess.
CodedElement = data.StructLayout(
    {
        "kind": Kind,
        "start": BlockStart,
        "symbol": range(SYMBOLS),
        "bits": unsigned(TAIL_BITS + COLUMN - 1),
        "excess": range(COLUMN),
    }
)

#: An element, and how many +0 stand before it.
Element = data.StructLayout(
    {
        "kind": Kind,
        "start": BlockStart,
        "word": unsigned(ELEMENT_BITS),
        "gap": unsigned(GAP_BITS),
        "below": unsigned(1),  # its bin is larger than 2 · base + 1
    }
)

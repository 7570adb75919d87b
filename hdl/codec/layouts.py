"""What encoder and decoder exchange with the rest of a device, and with each other."""

from typing import Any

from amaranth.hdl import unsigned
from amaranth.lib import data

from adagrain.hdl.stream.packet import check_lanes
from adagrain.models.interface.codec import BLOCK, GAP_BITS, LONGEST_CODE, SLOTS, SYMBOLS

__all__ = [
    "CHUNK_BITS",
    "CODED_BYTES",
    "ELEMENT_BITS",
    "TAIL_BITS",
    "Chunk",
    "Code",
    "CodeAndTail",
    "CodeWrite",
    "Coded",
    "CodedWord",
    "Item",
    "Mark",
    "RegionParameters",
    "Symbol",
    "Tail",
    "chunk_layout",
    "elements_layout",
]

#: Bits of an element.
ELEMENT_BITS = 16

#: The most bits behind an element's code: those of an escape, its gap and the element.
TAIL_BITS = GAP_BITS + ELEMENT_BITS

#: The most bits of a coded element.
CHUNK_BITS = LONGEST_CODE + TAIL_BITS

#: Bytes of coded blocks that travel in one cycle.
CODED_BYTES = 8

#: Bytes of a coded block, in their order; all bits of byte 0 come before those of byte 1.
Coded = data.ArrayLayout(unsigned(8), CODED_BYTES)


def chunk_layout(longest: int, mark: Any) -> data.StructLayout:
    """Bits for a packer.

    Members
    -------
    bits : ``unsigned(longest)``
        The first one highest; those that are not sent are 0.
    length : ``range(longest + 1)``
        How many are sent.
    last : ``unsigned(1)``
        It is a block's end, and has no bits.
    mark : ``mark``
        What comes out with that.
    """
    return data.StructLayout(
        {
            "bits": unsigned(longest),
            "length": range(longest + 1),
            "last": unsigned(1),
            "mark": mark,
        }
    )


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

#: What is known at a block's end.
Mark = data.StructLayout(
    {
        "closes": unsigned(1),  # the block is its region's last one
        "count": range(BLOCK + 1),  # elements of the block, zeros among them
    }
)

#: An element that is not +0; or, where ``last`` is set, a block's end.
Item = data.StructLayout(
    {
        "word": unsigned(ELEMENT_BITS),
        "place": range(BLOCK),
        "last": unsigned(1),
        "mark": Mark,
    }
)

#: What stands behind the code of an element, left-aligned, and how many bits that is.
Tail = data.StructLayout({"bits": unsigned(TAIL_BITS), "length": range(TAIL_BITS + 1)})

#: An element's symbol, and its bits behind the code: as the symbol has them, and as an escape.
Symbol = data.StructLayout(
    {
        "slot": range(SLOTS),
        "symbol": range(SYMBOLS),
        "tail": Tail,
        "escape": unsigned(TAIL_BITS),
        "last": unsigned(1),
        "mark": Mark,
    }
)

#: An element's code and its bits behind that.
CodeAndTail = data.StructLayout({"code": Code, "tail": Tail, "last": unsigned(1), "mark": Mark})

#: The bits of an element, the first one highest, and how many; none with a mark.
Chunk = chunk_layout(CHUNK_BITS, Mark)

#: Bytes of a block that the encoder gives. Those of a word that ends none are all of its own.
CodedWord = data.StructLayout(
    {
        "data": Coded,
        "last": unsigned(1),  # of its block: as many bytes are its own as ``length`` leaves
        "length": range(2 * BLOCK + CODED_BYTES + 1),  # bytes of the block, where ``last`` is set
        "given_up": unsigned(1),  # it takes no fewer bytes than its elements; likewise
        "closes": unsigned(1),  # it is its region's last one; likewise
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

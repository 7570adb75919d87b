"""Records that the parts of the encoder hand on."""

from typing import Any

from amaranth.hdl import unsigned
from amaranth.lib import data

from adagrain.models.interface.codec import BLOCK, ELEMENT_BITS, LONGEST_CODE, SLOTS, SYMBOLS

from .layouts import CODED_BYTES, TAIL_BITS, Coded

__all__ = [
    "CHUNK_BITS",
    "Chunk",
    "Code",
    "CodeAndTail",
    "CodeWrite",
    "CodedWord",
    "Item",
    "Mark",
    "Symbol",
    "Tail",
    "chunk_layout",
]

#: The most bits of a coded element.
CHUNK_BITS = LONGEST_CODE + TAIL_BITS

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

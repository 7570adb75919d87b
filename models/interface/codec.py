"""Frames of coded gradients, declared once; the page ``docs/codec.md`` tells the rules.

A frame is ``header ‖ region headers ‖ carried tables ‖ block lengths ‖ blocks ‖ CRC-32``. A device
makes and takes the blocks; the host puts the rest around them.
"""

import enum

from amaranth.hdl import unsigned
from amaranth.lib import data

from .formats import FormatCode

__all__ = [
    "BINS",
    "BLOCK",
    "CLASSES",
    "CODEC_MAGIC",
    "CODEC_VERSION",
    "CODED_FORMATS",
    "ELEMENT_BITS",
    "ESCAPE",
    "FIRST_AGREED",
    "GAP_BITS",
    "LONGEST_CODE",
    "SLOTS",
    "SYMBOLS",
    "BlockOutcome",
    "GradientHeader",
    "RegionHeader",
    "TableNumber",
]

#: The first two bytes of every frame: ``"AG"``.
CODEC_MAGIC = int.from_bytes(b"AG", "little")

#: Changes whenever a decoder of the old format would be misled.
CODEC_VERSION = 1

#: Elements of a block; the last one of a region has what is left.
BLOCK = 4096

#: Bits of an element, as it is before it is coded, and behind an escape.
ELEMENT_BITS = 16

#: Bits of a gap in an escape: enough for any gap within a block.
GAP_BITS = 12

#: Gap classes: 0 is gap 0, class c gaps from 2^(c−1) to 2^c − 1.
CLASSES = GAP_BITS + 1

#: Bins that have symbols: half binades, bin 0 the upper one at the region's base. In BF16 they are
#: the first of those of ``statistics``, but that −0 has one.
BINS = 32

#: The symbol of all other elements. The symbol of class c and bin b is 32·c + b.
ESCAPE = CLASSES * BINS

#: Symbols that a table has.
SYMBOLS = ESCAPE + 1

#: Bits of the longest code.
LONGEST_CODE = 12

#: Tables that a frame may use.
SLOTS = 2

#: Formats of elements that can be coded.
CODED_FORMATS = (FormatCode.FP16, FormatCode.BF16)

#: The lowest number that users may give to a table that both sides have agreed on.
FIRST_AGREED = 16


class TableNumber(enum.IntEnum):
    """Numbers of tables in headers; those from 16 to 255 are agreed on outside the frame."""

    NONE = 0  #: the slot is empty
    CARRIED = 1  #: its code lengths are in the frame
    WIDE = 2  #: the default for regions whose elements span many binades
    NARROW = 3  #: the default for those that span one to three


class BlockOutcome(enum.IntEnum):
    """Outcome of decoding a block; of an element that is wrong in several ways, the first."""

    FINE = 0  #: nothing wrong
    CUT = 1  #: its bits end within an element
    BEYOND = 2  #: an element stands behind its end
    BELOW = 3  #: an element's bin is larger than 2 · base + 1


#: Head of every frame.
GradientHeader = data.StructLayout(
    {
        "magic": unsigned(16),
        "version": unsigned(8),
        "format": unsigned(4),  # a FormatCode
        "mantissa_bits": unsigned(4),  # of each coded element
        "table_0": unsigned(8),  # number of the table in slot 0
        "table_1": unsigned(8),
        "regions": unsigned(16),
        "length": unsigned(32),  # bytes of the whole frame
    }
)

#: One for each region.
RegionHeader = data.StructLayout(
    {
        "count": unsigned(32),  # elements
        "exponent": unsigned(8),  # base: bins are counted down from its binade
        "width": unsigned(4),  # bits of each of its block lengths
        "slot": unsigned(1),  # of its table
        "_reserved": unsigned(3),
    }
)

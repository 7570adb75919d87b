"""What the parts of the Region Manager pass to each other."""

import enum

from amaranth.hdl import unsigned
from amaranth.lib import data

from adagrain.models.interface.units.region_manager import RegionRecord
from adagrain.models.region_manager.averages import LOGARITHM_BITS

__all__ = ["HEAD_WORDS", "LEVEL_BITS", "RECORD_WORDS", "WORD_BITS", "Head", "Sums", "Word"]

WORD_BITS = 64
RECORD_WORDS = RegionRecord.size // WORD_BITS

#: Bits of the logarithm of a region's N: of its octaves, and below.
LEVEL_BITS = 10 + LOGARITHM_BITS

#: Words of a record that hold its small fields; they are kept in registers while it is decided.
HEAD_WORDS = 2

#: The fields in those words.
Head = data.StructLayout(
    {name: field.shape for name, field in RegionRecord if field.offset < HEAD_WORDS * WORD_BITS}
)


class Word(enum.IntEnum):
    """Wide words: six of a record, at these places in it, the run's averages, and what comes in.

    Neighbours make a pair, the even one first: two numbers that are compared with each other. The
    last two pairs are one number each, of which the logarithm is taken.
    """

    STALL = 2
    REDO = 3
    N_FAST = 4
    N_SLOW = 5
    A_SUM = 6
    N_SUM = 7
    LOSS_FAST = 8
    LOSS_SLOW = 9
    A = 10
    N = 11
    N_LEVEL = 12
    LOSS_LEVEL = 14


#: What is added to the words when they are averaged.
Sums = data.StructLayout(
    {
        "a": unsigned(56),
        "n": unsigned(56),
        "stall": unsigned(32),
        "redo": unsigned(32),
        "level": unsigned(LEVEL_BITS),
    }
)

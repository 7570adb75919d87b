"""What the parts of the Region Manager pass to each other."""

import enum

from amaranth.hdl import unsigned
from amaranth.lib import data

from adagrain.models.records import RegionRecord

__all__ = ["HEAD_WORDS", "RECORD_WORDS", "WORD_BITS", "Head", "Sums", "Word"]

WORD_BITS = 64
RECORD_WORDS = RegionRecord.size // WORD_BITS

#: Words of a record that hold its small fields; they are kept in registers while it is decided.
HEAD_WORDS = 2

#: The fields in those words.
Head = data.StructLayout(
    {name: field.shape for name, field in RegionRecord if field.offset < HEAD_WORDS * WORD_BITS}
)


class Word(enum.IntEnum):
    """Wide words: eight of a record, at these places in it, and the run's two loss averages.

    Neighbours make a pair, the even one first: two numbers that are compared with each other.
    """

    STALL = 2
    REDO = 3
    A_EMA = 4
    N_EMA = 5
    N_FAST = 6
    N_SLOW = 7
    A_SUM = 8
    N_SUM = 9
    LOSS_FAST = 10
    LOSS_SLOW = 11


#: What is added to the words when they are averaged.
Sums = data.StructLayout(
    {
        "a": unsigned(56),
        "n": unsigned(56),
        "stall": unsigned(32),
        "redo": unsigned(32),
        "loss": unsigned(32),
    }
)

"""Common part of requests for ``encoder`` and ``decoder``: tables, words of blocks."""

from amaranth.hdl import unsigned
from amaranth.lib import data

from adagrain.models.interface.codec import SLOTS, SYMBOLS
from adagrain.models.interface.records import pack, unpack

__all__ = ["LENGTH_BITS", "WORD_BYTES", "CodeLengths", "lengths_of", "packed_lengths"]

#: Bytes in which blocks are read, the last word zero-padded.
WORD_BYTES = 8

#: Bits of a code length on the wire.
LENGTH_BITS = 4

#: Code lengths of all symbols, that of symbol 0 lowest, for one of the slots.
CodeLengths = data.StructLayout(
    {
        "slot": unsigned((SLOTS - 1).bit_length()),
        "_reserved": unsigned(8 - (SLOTS - 1).bit_length()),
        "lengths": unsigned(LENGTH_BITS * SYMBOLS),
        "_reserved2": unsigned(-LENGTH_BITS * SYMBOLS % 8),
    }
)


def packed_lengths(slot: int, lengths: bytes) -> bytes:
    """The record of code lengths, a byte each, that are meant for a slot."""
    packed = sum(length << LENGTH_BITS * symbol for symbol, length in enumerate(lengths))
    return pack(CodeLengths, slot=slot, lengths=packed)


def lengths_of(record: bytes) -> tuple[int, bytes]:
    """The slot, and the code lengths, a byte each, of such a record."""
    slot, packed = unpack(CodeLengths, record).values()
    each = (packed >> LENGTH_BITS * symbol for symbol in range(SYMBOLS))
    return slot, bytes(bits & (1 << LENGTH_BITS) - 1 for bits in each)

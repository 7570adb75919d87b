"""Memories of packed operands."""

from amaranth.hdl import Module, unsigned
from amaranth.lib import data, memory, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from adagrain.hdl.checks import check_integer, check_power_of_two
from adagrain.models.interface.precision import WORD_BITS

__all__ = ["Operands", "check_slices", "check_words", "write_layout"]


def check_slices(slices: int) -> None:
    """Make sure that a unit can have so many slices.

    Raises
    ------
    TypeError, ValueError
        If it cannot.
    """
    check_integer("slices", slices, 1, 16)


def check_words(words: int) -> None:
    """Make sure that an operand memory can have so many words: a run's addresses have 16 bits.

    Raises
    ------
    TypeError, ValueError
        If it cannot.
    """
    check_power_of_two("words", words, 2, 1 << 16)


def write_layout(slices: int, words: int) -> data.StructLayout:
    """A word to be written, and its address over all memories: that of ``a`` comes first."""
    return data.StructLayout(
        {"address": unsigned(ceil_log2((slices + 1) * words)), "word": unsigned(WORD_BITS)}
    )


class Operands(wiring.Component):
    """A memory for ``a``, and one for each slice's columns of ``b``; each reads a word per cycle.

    Parameters
    ----------
    slices : int
        Number of slices.
    words : int
        Words of each memory: a power of two.

    Members
    -------
    en_write : ``In(1)``
        Write in this cycle.
    write : ``In(write_layout(slices, words))``
        What is written, and where.
    en : ``In(1)``
        Read in this cycle; what was read stays until the next time.
    a_address, b_address : ``In(range(words))``
        What is read of the memory of ``a``, and of each slice's.
    a : ``Out(32)``
        Word of ``a``, a cycle later.
    b : ``Out(32).array(slices)``
        Word of each slice, a cycle later.

    Raises
    ------
    TypeError, ValueError
        If a parameter is not what it must be.
    """

    def __init__(self, slices: int, words: int) -> None:
        check_slices(slices)
        check_words(words)
        self._slices, self._words = slices, words
        super().__init__(
            {
                "en_write": In(1),
                "write": In(write_layout(slices, words)),
                "en": In(1),
                "a_address": In(range(words)),
                "b_address": In(range(words)),
                "a": Out(WORD_BITS),
                "b": Out(WORD_BITS).array(slices),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        bits = ceil_log2(self._words)
        place, bank = self.write.address[:bits], self.write.address[bits:]
        addresses = [self.a_address] + [self.b_address] * self._slices
        outputs = [self.a, *self.b]
        for number, (address, output) in enumerate(zip(addresses, outputs, strict=True)):
            words = memory.Memory(shape=WORD_BITS, depth=self._words, init=[])
            m.submodules[f"bank_{number}"] = words
            write, read = words.write_port(), words.read_port()
            m.d.comb += [
                write.addr.eq(place),
                write.data.eq(self.write.word),
                write.en.eq(self.en_write & (bank == number)),
                read.addr.eq(address),
                read.en.eq(self.en),
                output.eq(read.data),
            ]
        return m

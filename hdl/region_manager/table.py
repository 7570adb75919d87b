"""The region table: block RAM, and who may use it."""

from amaranth.hdl import Cat, Module, Signal, unsigned
from amaranth.lib import memory, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from adagrain.hdl.handler.access import access_layout
from adagrain.models.interface.units.region_manager import REGION_MANAGER

from .layouts import RECORD_WORDS, WORD_BITS, WORD_NUMBER, WordStream, check_regions

__all__ = ["Table"]


class Table(wiring.Component):
    """A record of eight words for each region; reads and writes a word per cycle.

    It does not arbitrate: an access must come alone, and so must a write. Addresses must be inside
    the table.

    Parameters
    ----------
    regions : int
        Records, 1 to 8192; all are 0 at first.

    Members
    -------
    i_access : ``In(stream.Signature(access_layout(REGION_MANAGER)))``
        Reads or writes any word.
    o_access : ``Out(stream.Signature(64))``
        What such a read found, one cycle later.
    region : ``In(16)``
        The record that the other ports are about.
    i_read : ``In(stream.Signature(4, always_ready=True))``
        Word to read.
    word : ``Out(64)``
        What was read one cycle before.
    i_averaged, i_head : ``In(WordStream)``
        Words to write. Of averaged ones, those that are no word of a record pass by.

    Raises
    ------
    TypeError, ValueError
        If a parameter is not what it must be.
    """

    def __init__(self, regions: int) -> None:
        check_regions(regions)
        self._words = regions * RECORD_WORDS
        super().__init__(
            {
                "i_access": In(stream.Signature(access_layout(REGION_MANAGER))),
                "o_access": Out(stream.Signature(WORD_BITS)),
                "region": In(16),
                "i_read": In(stream.Signature(WORD_NUMBER, always_ready=True)),
                "word": Out(WORD_BITS),
                "i_averaged": In(WordStream),
                "i_head": In(WordStream),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.memory = words = memory.Memory(
            shape=unsigned(WORD_BITS), depth=self._words, init=[]
        )
        read, write = words.read_port(), words.write_port()
        access, written = self.i_access.payload, Signal.like(self.i_head.payload)
        m.d.comb += [
            self.i_access.ready.eq(~self.o_access.valid),
            self.o_access.payload.eq(read.data),
            self.word.eq(read.data),
            read.en.eq(self.i_read.valid),
            read.addr.eq(Cat(self.i_read.payload[: exact_log2(RECORD_WORDS)], self.region)),
            written.eq(self.i_averaged.payload),
            write.en.eq(self.i_averaged.valid & (self.i_averaged.p.word < RECORD_WORDS)),
        ]
        with m.If(self.i_head.valid):
            m.d.comb += [written.eq(self.i_head.payload), write.en.eq(1)]
        m.d.comb += [
            write.addr.eq(Cat(written.word[: exact_log2(RECORD_WORDS)], self.region)),
            write.data.eq(written.data),
        ]

        with m.If(self.o_access.ready):
            m.d.sync += self.o_access.valid.eq(0)
        with m.If(self.i_access.valid & self.i_access.ready):
            m.d.sync += self.o_access.valid.eq(~access.write)
            m.d.comb += [
                read.addr.eq(access.number),
                read.en.eq(~access.write),
                write.addr.eq(access.number),
                write.data.eq(access.item),
                write.en.eq(access.write),
            ]
        return m

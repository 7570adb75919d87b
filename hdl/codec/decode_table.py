"""The decoder's tables: what begins with the next bits."""

from amaranth.hdl import Cat, Module, Mux, unsigned
from amaranth.lib import data, memory, stream, wiring
from amaranth.lib.wiring import In, Out

from adagrain.models.interface.codec import BINS, ESCAPE, LONGEST_CODE, SLOTS, SYMBOLS

from .decoder_layouts import DecodeWrite

__all__ = ["DecodeTable"]

#: Bits of a symbol that tell the bin; those above tell the class.
_BIN_BITS = (BINS - 1).bit_length()

_Entry = data.StructLayout({"symbol": range(SYMBOLS), "size": unsigned(5)})


class DecodeTable(wiring.Component):
    """Keeps two tables; gives what begins with the next bits a cycle after it was asked.

    A table may be written while the other one is read. Written is the length of a code, read that
    of the code and the bits of the gap behind it. What was not written since power-on is a code of
    length 0.

    Members
    -------
    i_write : ``In(stream.Signature(DecodeWrite))``
        An entry each cycle.
    slot, ahead : ``In(1)``, ``In(12)``
        The table, and the next bits.
    en : ``In(1)``
        Look them up. What was found stands until the next time.
    symbol : ``Out(range(SYMBOLS))``
        Symbol of the code that the bits begin with.
    escapes : ``Out(1)``
        It is that of the escape.
    size : ``Out(5)``
        Bits of the code and of the gap: 12 in an escape.
    """

    def __init__(self) -> None:
        super().__init__(
            {
                "i_write": In(stream.Signature(DecodeWrite)),
                "slot": In(range(SLOTS)),
                "ahead": In(LONGEST_CODE),
                "en": In(1),
                "symbol": Out(range(SYMBOLS)),
                "escapes": Out(1),
                "size": Out(5),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.entries = entries = memory.Memory(
            shape=_Entry, depth=SLOTS << LONGEST_CODE, init=[]
        )
        write, read = entries.write_port(), entries.read_port()
        given = self.i_write.payload
        kind = given.symbol[_BIN_BITS:]
        m.d.comb += [
            self.i_write.ready.eq(1),
            write.en.eq(self.i_write.valid),
            write.addr.eq(Cat(given.ahead, given.slot)),
            write.data.symbol.eq(given.symbol),
            write.data.size.eq(given.length + Mux(kind == 0, 0, kind - 1)),
            read.en.eq(self.en),
            read.addr.eq(Cat(self.ahead, self.slot)),
            self.symbol.eq(read.data.symbol),
            self.escapes.eq((read.data.symbol & ESCAPE) == ESCAPE),  # no symbol is larger
            self.size.eq(read.data.size),
        ]
        return m

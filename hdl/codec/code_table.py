"""The codes of symbols, in two slots."""

from amaranth.hdl import Array, Cat, Module, Signal
from amaranth.lib import memory, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from adagrain.hdl.stream.pipeline import elastic
from adagrain.models.interface.codec import (
    ELEMENT_BITS,
    ESCAPE,
    GAP_BITS,
    LONGEST_CODE,
    SLOTS,
    SYMBOLS,
)

from .encoder_layouts import Code, CodeAndTail, CodeWrite, Symbol

__all__ = ["CodeTable"]


class CodeTable(wiring.Component):
    """Gives each element its code: that of its symbol, or the escape's where that has none.

    An element per cycle, latency two cycles. A slot may be written while the other one is read;
    all symbols must have been written before, those without a code with length 0. The escape's code
    is known to be all ones. A reset leaves what was written.

    Members
    -------
    i_write : ``In(stream.Signature(CodeWrite))``
        Codes of symbols; taken at once.
    i : ``In(stream.Signature(Symbol))``
        Symbols and marks.
    o : ``Out(stream.Signature(CodeAndTail))``
        Elements with their codes, and marks.
    """

    def __init__(self) -> None:
        super().__init__(
            {
                "i_write": In(stream.Signature(CodeWrite)),
                "i": In(stream.Signature(Symbol)),
                "o": Out(stream.Signature(CodeAndTail)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        bits = ceil_log2(SYMBOLS)
        m.submodules.codes = codes = memory.Memory(shape=Code, depth=SLOTS << bits, init=[])
        write, read = codes.write_port(), codes.read_port()
        lengths = (Signal(4, name=f"escape_{slot}", reset_less=True) for slot in range(SLOTS))
        escapes = Array(lengths)
        new = self.i_write.p
        m.d.comb += [
            self.i_write.ready.eq(1),
            write.en.eq(self.i_write.valid),
            write.addr.eq(Cat(new.symbol, new.slot)),
            write.data.eq(new.code),
        ]
        with m.If(self.i_write.valid & (new.symbol == ESCAPE)):
            m.d.sync += escapes[new.slot].eq(new.code.length)

        symbol = Signal(Symbol)  # the one whose code is read
        moves = elastic(m, self.i, self.o, 2)
        is_plain = (symbol.symbol != ESCAPE) & (read.data.length != 0)
        longest, tail = escapes[symbol.slot], self.o.p.tail
        m.d.comb += [read.en.eq(moves), read.addr.eq(Cat(self.i.p.symbol, self.i.p.slot))]
        with m.If(moves):
            m.d.sync += [
                symbol.eq(self.i.p),
                self.o.p.code.eq(read.data),
                tail.eq(symbol.tail),
                self.o.p.last.eq(symbol.last),
                self.o.p.mark.eq(symbol.mark),
            ]
            with m.If(~is_plain):
                m.d.sync += [
                    self.o.p.code.length.eq(longest),
                    self.o.p.code.code.eq(
                        ((1 << LONGEST_CODE) - 1) >> (LONGEST_CODE - longest)[:4]
                    ),
                    tail.bits.eq(symbol.escape),
                    tail.length.eq(GAP_BITS + ELEMENT_BITS),
                ]
        return m

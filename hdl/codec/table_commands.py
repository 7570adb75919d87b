"""The request that brings a table of the code."""

from amaranth.hdl import Module, Mux, Signal, Value, unsigned
from amaranth.lib import data, memory, stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from adagrain.hdl.handler.answer import Answer
from adagrain.hdl.handler.call import HandlerSignature
from adagrain.models.interface.codec import ESCAPE, LONGEST_CODE, SLOTS, SYMBOLS
from adagrain.models.interface.protocol import Status
from adagrain.models.interface.units.code_lengths import LENGTH_BITS

from .encoder_layouts import CodeWrite

__all__ = ["TableCommands"]

#: What tells whether code lengths are a table.
_Measured = data.StructLayout(
    {
        "filled": range((SYMBOLS << LONGEST_CODE - 1) + 1),  # codes of 12 bits that begin with one
        "longest": unsigned(LENGTH_BITS),
        "last": unsigned(LENGTH_BITS),  # the escape's
    }
)


class TableCommands(wiring.Component):
    """Makes canonical codes of the code lengths that a request brings.

    A request is a :data:`~adagrain.models.interface.units.code_lengths.CodeLengths`. Lengths that
    are no table of the code (they do not fill the code space, or one is longer than the escape's,
    or than 12) are refused as ``BAD_VALUE``, and the slot keeps what it has. Otherwise all symbols
    are gone through once for each length, the shortest first: so codes come in their order, each
    the one before it plus 1. That takes a cycle for each symbol and length, 5421 in all, if ``o``
    never waits; meanwhile the request shows progress.

    Which codes these are, a decoder sees too: those that begin with the same 12 bits follow each
    other, from zeros to ones.

    Members
    -------
    handler : ``Out(HandlerSignature())``
        Requests and replies.
    busy : ``In(1)``
        Requests are refused as ``BUSY``.
    o : ``Out(stream.Signature(CodeWrite))``
        Symbols with their codes; first those that have none, with length 0.
    slots : ``Out(SLOTS)``
        Those that have a table.
    """

    def __init__(self) -> None:
        super().__init__(
            {
                "handler": Out(HandlerSignature()),
                "busy": In(1),
                "o": Out(stream.Signature(CodeWrite)),
                "slots": Out(SLOTS),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.lengths = lengths = memory.Memory(shape=LENGTH_BITS, depth=SYMBOLS, init=[])
        m.submodules.answer = answer = Answer(0)
        connect(m, answer.o, flipped(self.handler.o))
        call, i = self.handler.i_call, self.handler.i
        slot, symbol = self.o.p.slot, Signal(range(SYMBOLS))
        measured, through = Signal(_Measured), Signal()
        read = lengths.read_port()
        with m.FSM():
            with m.State("IDLE"):
                m.d.comb += call.ready.eq(1)
                with m.If(call.valid & self.busy):
                    m.d.comb += answer.give(Status.BUSY)
                with m.Elif(call.valid):
                    m.next = "SLOT"
            with m.State("SLOT"):
                m.d.comb += i.ready.eq(1)
                m.d.sync += [slot.eq(i.payload), symbol.eq(0)]
                with m.If(i.valid):
                    m.next = "LENGTHS"
            with m.State("LENGTHS"):
                with m.If(self._gather(m, lengths.write_port(), symbol, measured)):
                    m.next = "CHECK"
            with m.State("CHECK"):
                m.d.sync += symbol.eq(0)
                m.next = "CODES"
                fills = measured.filled == 1 << LONGEST_CODE
                short = measured.longest <= LONGEST_CODE
                with m.If(~(fills & short & (measured.last == measured.longest))):
                    m.d.comb += answer.give(Status.BAD_VALUE)
                    m.next = "IDLE"
            with m.State("CODES"):
                m.d.comb += self.handler.progress.eq(1)
                self._number(m, read, symbol, through)
                with m.If(through):
                    m.d.sync += self.slots.bit_select(slot, 1).eq(1)
                    m.d.comb += answer.give(Status.OK)
                    m.next = "IDLE"
        return m

    def _gather(
        self, m: Module, write: memory.WritePort, symbol: Signal, measured: data.View
    ) -> Value:
        """Take a length each cycle, and measure all of them; high with the last one."""
        i, length = self.handler.i, Signal(LENGTH_BITS)
        is_first, is_last = symbol == 0, symbol == ESCAPE
        share = Mux(length == 0, 0, (1 << LONGEST_CODE) >> length)
        m.d.comb += [
            length.eq(i.payload.word_select(symbol[0], LENGTH_BITS)),
            i.ready.eq(symbol[0] | is_last),
            write.addr.eq(symbol),
            write.data.eq(length),
            write.en.eq(i.valid),
        ]
        with m.If(i.valid):
            m.d.sync += [
                symbol.eq(symbol + 1),
                measured.filled.eq(Mux(is_first, 0, measured.filled) + share),
                measured.last.eq(length),
            ]
            with m.If(is_first | (length > measured.longest)):
                m.d.sync += measured.longest.eq(length)
        return i.valid & is_last

    def _number(self, m: Module, read: memory.ReadPort, symbol: Signal, through: Signal) -> None:
        """Look at a symbol each cycle, for one length after the other; ``through`` at the end."""
        sought, moves = Signal(LENGTH_BITS), Signal()
        looked, there = Signal(), Signal(range(SYMBOLS))
        is_last, found = there == ESCAPE, Signal()
        given = self.o.p
        following = given.code.code + found
        m.d.comb += [
            read.addr.eq(symbol),
            read.en.eq(moves),
            found.eq(looked & (read.data == sought)),
            moves.eq(~found | self.o.ready),
            self.o.valid.eq(found),
            given.symbol.eq(there),
            given.code.length.eq(sought),
            through.eq(moves & looked & is_last & (sought == LONGEST_CODE)),
        ]
        with m.If(moves):
            m.d.sync += [symbol.eq(Mux(symbol == ESCAPE, 0, symbol + 1)), there.eq(symbol)]
            m.d.sync += [looked.eq(~through), given.code.code.eq(Mux(sought == 0, 0, following))]
            with m.If(looked & is_last):
                m.d.sync += [
                    sought.eq(Mux(through, 0, sought + 1)),
                    given.code.code.eq(Mux((sought == 0) | through, 0, following << 1)),
                ]

"""Answers: a status, and the packet that belongs to it."""

from amaranth.hdl import Assert, Assume, Cover, Module, Signal
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out, connect, flipped

from adagrain.hdl.handler.answer import Answer
from adagrain.hdl.stream.packet import Packet

from .harness import Proof, assume_stable, counted, demand_stable, transfers

__all__ = ["AnswerProof"]


class AnswerProof(Proof):
    """A status leaves first, then a packet of the source that it names; the others wait."""

    DEPTH = 12
    MUTANT = (
        "hdl/handler/answer.py",
        "with m.Switch(given.body):",
        "with m.Switch(self.i_status.p.body):",
    )

    def __init__(self) -> None:
        self._answer = Answer(2)
        super().__init__(
            {
                "i_status": self._answer.signature.members["i_status"],
                "i_1": In(stream.Signature(Packet)),
                "i_2": In(stream.Signature(Packet)),
                "o": Out(stream.Signature(Packet)),
            }
        )

    def build(self, m: Module) -> None:
        m.submodules.answer = answer = self._answer
        connect(m, flipped(self.i_status), answer.i_status)
        connect(m, flipped(self.i_1), answer.i[0])
        connect(m, flipped(self.i_2), answer.i[1])
        connect(m, answer.o, flipped(self.o))
        for port in (self.i_status, self.i_1, self.i_2):
            assume_stable(m, port)
        demand_stable(m, self.o)
        m.d.comb += Assume(self.i_status.p.body <= 2)

        given, held = Signal.like(self.i_status.payload), Signal.like(self.o.payload)
        waits, told, holds = Signal(), Signal(), Signal()  # a status, for a source, a register
        moves = ~self.o.valid | self.o.ready
        enters = waits & moves
        with m.If(moves):
            m.d.sync += holds.eq(0)
        with m.If(transfers(self.i_status)):
            m.d.sync += [given.eq(self.i_status.payload), waits.eq(1)]
        with m.If(enters):
            m.d.sync += [held.data.eq(given.status), held.last.eq(given.body == 0), holds.eq(1)]
            m.d.sync += [waits.eq(0), told.eq(given.body != 0)]
        for number, source in enumerate((self.i_1, self.i_2), 1):
            follows = told & (given.body == number)
            m.d.comb += Assert(transfers(source) == (source.valid & moves & follows))
            with m.If(transfers(source)):
                m.d.sync += [held.eq(source.payload), holds.eq(1), told.eq(~source.p.last)]
        m.d.comb += Assert(self.o.valid == holds)
        with m.If(holds):
            m.d.comb += Assert(self.o.payload == held)
        m.d.comb += Assert(self.i_status.ready == ~(waits | told))
        ended = counted(m, transfers(self.o) & self.o.p.last)
        m.d.comb += Cover(ended == 2)

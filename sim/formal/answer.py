"""Answers: a status, and the packet that belongs to it."""

from amaranth.hdl import Assert, Assume, Cover, Module, Signal
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out, connect, flipped

from adagrain.hdl.handler.answer import Answer
from adagrain.hdl.stream.packet import Packet

from .harness import Proof, assume_stable, counted, demand_patience, demand_stable, transfers

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

        given, told = Signal.like(self.i_status.payload), Signal()  # the status has left
        with m.If(transfers(self.i_status)):
            m.d.sync += [given.eq(self.i_status.payload), told.eq(0)]
        with m.If(transfers(self.o)):
            m.d.sync += told.eq(1)
        for number, source in enumerate((self.i_1, self.i_2), 1):
            follows = told & (given.body == number)
            m.d.comb += Assert(transfers(source) == (transfers(self.o) & follows))
            with m.If(transfers(source)):
                m.d.comb += Assert(self.o.payload == source.payload)
        with m.If(transfers(self.o) & ~told):
            m.d.comb += [
                Assert(self.o.p.data == given.status),
                Assert(self.o.p.last == (given.body == 0)),
            ]
        asked = counted(m, transfers(self.i_status))
        ended = counted(m, transfers(self.o) & self.o.p.last)
        under_way = asked != ended
        m.d.comb += Assert(self.i_status.ready == ~under_way)
        demand_patience(m, under_way & ~told, self.o.valid, cycles=0)
        m.d.comb += Cover(ended == 2)

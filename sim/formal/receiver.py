"""The link's receiver: each numbered request is executed once, whatever arrives again."""

from amaranth.hdl import Assert, Assume, Cover, Module, Signal
from amaranth.lib import memory
from amaranth.lib.wiring import In, connect

from adagrain.hdl.link.session import Session
from adagrain.models.interface.configuration import configuration
from adagrain.models.interface.protocol import Header, Status
from adagrain.models.interface.units.system import SystemOpcode
from adagrain.models.link import HEADER_SIZE, FrameCheck

from .harness import Proof, counted, transfers

__all__ = ["ReceiverProof"]

#: The session's number, in the proof.
_SESSION = 1


class ReceiverProof(Proof):
    """Records of one session with any sequence numbers, the first one HELLO.

    The k-th execution is that of the request numbered k. Each record gets one answer: where its
    reply is still kept, its status under its own number; elsewhere a refusal under the expected
    one. Replies have no payload here: that it is kept with them is for the bench to show.
    """

    DEPTH = 76
    MUTANT = (
        "hdl/link/session.py",
        "m.d.sync += expected.eq(expected + 1)",
        "m.d.sync += expected.eq(expected + (kept != self._window))",
    )

    def __init__(self) -> None:
        super().__init__({"sequence": In(2), "status": In(1)})

    def build(self, m: Module) -> None:
        device = configuration("tiny", window=2)
        m.submodules.session = session = Session(device)
        replies = memory.Memory(shape=8, depth=device.payload * device.window, init=[])
        m.submodules.replies = replies
        connect(m, session.memory, replies.write_port())

        # Records, one after the other, and an executor that answers at once.
        position = Signal(range(HEADER_SIZE + 1))
        record, hello = counted(m, transfers(session.o)), Signal()
        header, sequence = Signal(Header), Signal(2)
        m.d.comb += [
            hello.eq(record == 0),
            Assume(~hello | (self.sequence == 0)),
            header.session.eq(_SESSION),
            header.sequence.eq(sequence),
            header.opcode.eq(SystemOpcode.ECHO),
            session.i.valid.eq(1),
            session.i.payload.eq(header.as_value().word_select((position - 1)[:4], 8)),
            session.o.ready.eq(1),
            session.o_request.ready.eq(1),
        ]
        with m.If(hello):
            m.d.comb += header.opcode.eq(SystemOpcode.HELLO)
        with m.If(position == 0):
            m.d.comb += session.i.payload.eq(FrameCheck.INTACT)
            with m.If(transfers(session.i)):
                m.d.sync += sequence.eq(self.sequence)
        with m.If(transfers(session.i)):
            m.d.sync += position.eq(position + 1)
            with m.If(position == HEADER_SIZE):
                m.d.sync += position.eq(0)
        executing = Signal()
        executed = counted(m, transfers(session.o_request))
        m.d.sync += executing.eq(transfers(session.o_request))
        m.d.comb += [
            session.i_reply.valid.eq(executing),
            session.i_reply.p.data.eq(self.status),
            session.i_reply.p.last.eq(1),
        ]

        status = [Signal(1, name=f"status_{n}") for n in range(4)]
        with m.If(transfers(session.i_reply)):
            for number, kept in enumerate(status):
                with m.If(executed == number + 1):
                    m.d.sync += kept.eq(self.status)
        with m.If(transfers(session.o_request)):
            m.d.comb += Assert(sequence == executed[:2])
        with m.If(transfers(session.o)):
            answered = session.o.payload.header
            m.d.comb += Assert(answered.session == _SESSION)
            with m.If((sequence < executed) & (sequence + device.window >= executed)):
                m.d.comb += Assert(answered.sequence == sequence)
                for number, kept in enumerate(status):
                    with m.If(sequence == number):
                        m.d.comb += Assert(answered.status == kept)
            with m.Else():
                m.d.comb += [
                    Assert(answered.sequence == executed),
                    Assert(answered.status == Status.OUT_OF_ORDER),
                ]
        waited = Signal(6)
        m.d.sync += waited.eq(waited + 1)
        with m.If(transfers(session.o)):
            m.d.sync += waited.eq(0)
        m.d.comb += [
            Assert(waited < 24),
            Cover((record == 4) & (executed == 4)),
            Cover((record == 4) & (executed == 3)),
            Cover((record == 3) & (executed == 1)),
        ]

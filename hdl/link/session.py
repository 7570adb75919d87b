"""Sees to it that each numbered request is executed once, and answered however often it comes."""

from amaranth.hdl import Cat, Module, Signal, Value
from amaranth.lib import data, memory, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from adagrain.hdl.checks import check_kind
from adagrain.hdl.stream.packet import Packet, Reply
from adagrain.models.interface.configuration import Configuration
from adagrain.models.interface.protocol import Header, Status
from adagrain.models.interface.units.system import SystemOpcode
from adagrain.models.link import COUNTERS, HEADER_SIZE, NO_SESSION, FrameCheck

from .frame_sender import reply_layout

__all__ = ["Counters", "Session"]

#: What the link counts since reset, modulo 2**16.
Counters = data.StructLayout(dict.fromkeys(COUNTERS, 16))

#: What is kept of a reply beside its payload; with the repeated request it makes the header.
Summary = data.StructLayout({name: Header[name].shape for name in ("opcode", "status", "length")})

#: Checks of records without a header, and what counts them.
UNREADABLE = {FrameCheck.DAMAGED: "bad_frame", FrameCheck.WRONG_CHECKSUM: "bad_crc"}


class Session(wiring.Component):
    """The rules of ``docs/link.md`` from received records to replies.

    Records are handled in the order of their arrival, one at a time: a request is forwarded to
    the executor while the executor may already answer; its reply goes to the reply memory, and
    a copy of the header's fields to a memory beside it, from which repeats are answered. The
    next record is handled while a reply is being sent.

    Counters change before a request is forwarded, so an executor that reads them sees the
    request at hand counted.

    Takes 16 cycles and one per byte of the payload for a request, and what the executor takes
    beyond that. A reply must have no more bytes than the status and ``payload``; the executor must
    take each request to its end, and must not answer before its first byte.

    Parameters
    ----------
    configuration : Configuration
        Its ``payload`` and ``window`` are the size and the number of the reply memory's slots.

    Members
    -------
    i : ``In(stream.Signature(8))``
        Records as :class:`~adagrain.hdl.link.frame_checker.FrameChecker` writes them.
    o : ``Out(stream.Signature(reply_layout(window)))``
        Replies to send. ``ready`` is to be low while the previous one is being sent: its slot
        is then left alone.
    o_request : ``Out(stream.Signature(Packet))``
        Opcode and payload of requests to execute.
    request_length : ``Out(16)``
        Bytes of the payload; stable from the request's first byte until it is answered.
    i_reply : ``In(stream.Signature(Reply))``
        Status and payload of their replies, or a status in place of what has come of one.
    memory : ``In(memory.WritePort.Signature(...))``
        The reply memory: slots one after the other.
    counters : ``Out(Counters)``
        What was counted.

    Raises
    ------
    TypeError, ValueError
        If a parameter is not what it must be.
    """

    def __init__(self, configuration: Configuration) -> None:
        check_kind("configuration", configuration, Configuration)
        self._payload = configuration.payload
        self._window = configuration.window
        slots = exact_log2(self._payload * self._window)
        super().__init__(
            {
                "i": In(stream.Signature(8)),
                "o": Out(stream.Signature(reply_layout(self._window))),
                "o_request": Out(stream.Signature(Packet)),
                "request_length": Out(16),
                "i_reply": In(stream.Signature(Reply)),
                "memory": In(memory.WritePort.Signature(addr_width=slots, shape=8)),
                "counters": Out(Counters),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()

        session = Signal(Header["session"].shape, init=NO_SESSION)
        expected = Signal(Header["sequence"].shape)
        kept = Signal(range(self._window + 1))  # replies of this session in memory

        check = Signal(FrameCheck)
        header = Signal(Header)  # the request's, which then turns into the reply's
        position = Signal(range(HEADER_SIZE))
        remaining = Signal(range(self._payload + 1))  # bytes of the request still to come
        slot = header.sequence[: exact_log2(self._window)]
        forwarded = Signal()  # the request's opcode; its payload follows
        answered = Signal()  # the reply is complete

        # What the header says against what is known; registered, since all rules hang on it.
        opens = Signal()  # it could open a session
        belongs = Signal()  # it is of this session
        age = Signal.like(expected)  # how long ago its sequence number was due

        m.submodules.summaries = summaries = memory.Memory(
            shape=Summary, depth=self._window, init=[]
        )
        summary_write, summary_read = summaries.write_port(), summaries.read_port()
        m.d.comb += [summary_write.addr.eq(slot), summary_read.addr.eq(slot)]
        m.d.comb += [summary_write.data[name].eq(header[name]) for name, _ in Summary]

        def count(name: str) -> None:
            m.d.sync += self.counters[name].eq(self.counters[name] + 1)

        def refuse(status: Status) -> None:
            m.d.sync += [header.status.eq(status), header.length.eq(0)]
            m.next = "REPLY"

        def execute() -> None:
            m.d.sync += header.length.eq(0)
            m.next = "EXECUTE"

        def recall() -> None:
            with m.If((age != 0) & (age <= kept)):
                count("repeats")
                m.next = "RECALL"
            with m.Else():
                count("out_of_order")
                m.d.sync += header.sequence.eq(expected)
                refuse(Status.OUT_OF_ORDER)

        with m.FSM() as state:
            with m.State("CHECK"):
                m.d.comb += self.i.ready.eq(1)
                m.d.sync += [check.eq(self.i.payload), position.eq(0), remaining.eq(0)]
                with m.If(self.i.valid):
                    m.next = "HEADER"
                    for unreadable, counter in UNREADABLE.items():
                        with m.If(self.i.payload == unreadable):
                            count(counter)
                            m.d.sync += [
                                header.session.eq(session),
                                header.sequence.eq(expected),
                                header.opcode.eq(0),
                            ]
                            refuse(Status.BAD_CRC)

            with m.State("HEADER"):
                m.d.comb += self.i.ready.eq(1)
                with m.If(self.i.valid):
                    m.d.sync += header.eq(Cat(header.as_value()[8:], self.i.payload))
                    m.d.sync += position.eq(position + 1)
                    with m.If(position == HEADER_SIZE - 1):
                        m.next = "COMPARE"

            with m.State("COMPARE"):
                m.d.sync += [
                    opens.eq((header.sequence == 0) & (header.session != NO_SESSION)),
                    belongs.eq(header.session == session),
                    age.eq(expected - header.sequence),
                ]
                m.next = "EXECUTE_OR_REFUSE"

            with m.State("EXECUTE_OR_REFUSE"):
                m.d.sync += self.request_length.eq(header.length[: len(remaining)])
                with m.If(check == FrameCheck.INTACT):
                    count("frames")
                    m.d.sync += remaining.eq(header.length)
                with m.Else():
                    count("bad_frame")

                with m.If(check == FrameCheck.TOO_LONG):
                    refuse(Status.OVERFLOW)
                with m.Elif(check == FrameCheck.WRONG_LENGTH):
                    refuse(Status.BAD_LENGTH)
                with m.Elif(header.opcode == SystemOpcode.HELLO):
                    with m.If(header.length != 0):
                        refuse(Status.BAD_LENGTH)
                    with m.Elif(~opens):
                        refuse(Status.BAD_VALUE)
                    with m.Elif(belongs):
                        recall()
                    with m.Else():
                        count("sessions")
                        m.d.sync += [session.eq(header.session), expected.eq(0), kept.eq(0)]
                        execute()
                with m.Elif((session == NO_SESSION) | ~belongs):
                    count("no_session")
                    refuse(Status.NO_SESSION)
                with m.Elif(age == 0):
                    execute()
                with m.Else():
                    recall()

            with m.State("EXECUTE"):
                with m.If(forwarded & (remaining == 0) & answered):
                    m.d.comb += summary_write.en.eq(1)
                    m.d.sync += expected.eq(expected + 1)
                    with m.If(kept != self._window):
                        m.d.sync += kept.eq(kept + 1)
                    m.next = "REPLY"

            with m.State("RECALL"):
                m.d.sync += [header[name].eq(summary_read.data[name]) for name, _ in Summary]
                m.next = "REPLY"

            with m.State("REPLY"):
                with m.If(remaining != 0):  # of a request that is not executed
                    m.d.comb += self.i.ready.eq(1)
                with m.Else():
                    m.d.comb += self.o.valid.eq(1)
                    with m.If(self.o.ready):
                        m.next = "CHECK"

        executing = state.ongoing("EXECUTE")
        self._forward(m, executing, header.opcode, remaining, forwarded)
        self._collect(m, executing, header, slot, answered)
        m.d.comb += [self.o.p.header.eq(header), self.o.p.slot.eq(slot)]
        with m.If(self.i.valid & self.i.ready & (remaining != 0)):
            m.d.sync += remaining.eq(remaining - 1)

        return m

    def _forward(
        self, m: Module, executing: Value, opcode: Value, remaining: Signal, forwarded: Signal
    ) -> None:
        """Hand the opcode and the rest of the record to the executor."""
        with m.If(~executing):
            m.d.sync += forwarded.eq(0)
        with m.Elif(~forwarded):
            m.d.comb += [
                self.o_request.valid.eq(1),
                self.o_request.p.data.eq(opcode),
                self.o_request.p.last.eq(remaining == 0),
            ]
            m.d.sync += forwarded.eq(self.o_request.ready)
        with m.Elif(remaining != 0):
            m.d.comb += [
                self.o_request.valid.eq(self.i.valid),
                self.o_request.p.data.eq(self.i.payload),
                self.o_request.p.last.eq(remaining == 1),
                self.i.ready.eq(self.o_request.ready),
            ]

    def _collect(
        self, m: Module, executing: Value, header: data.View, slot: Value, answered: Signal
    ) -> None:
        """Take the reply's status into the header, and its payload into the reply memory."""
        status_taken = Signal()
        slot_sent = Signal.like(slot)  # the slot that may still be read
        with m.If(self.o.valid & self.o.ready):
            m.d.sync += slot_sent.eq(slot)
        slot_free = Signal()  # a cycle late, long after a slot is handed over
        m.d.sync += slot_free.eq(self.o.ready | (slot != slot_sent))

        taken = self.i_reply.valid & self.i_reply.ready
        index = header.length[: exact_log2(self._payload)]
        m.d.comb += [
            self.i_reply.ready.eq(executing & ~answered & slot_free),
            self.memory.en.eq(taken & status_taken),
            self.memory.addr.eq(Cat(index, slot)),
            self.memory.data.eq(self.i_reply.p.data),
        ]
        with m.If(~executing):
            m.d.sync += [status_taken.eq(0), answered.eq(0)]
        with m.Elif(taken):
            m.d.sync += [status_taken.eq(1), answered.eq(self.i_reply.p.last)]
            with m.If(status_taken & ~self.i_reply.p.replaces):
                m.d.sync += header.length.eq(header.length + 1)
            with m.Else():
                m.d.sync += [header.status.eq(self.i_reply.p.data), header.length.eq(0)]

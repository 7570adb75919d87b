"""Routes each request to the handler of its group, and the reply back."""

from amaranth.hdl import Const, Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from adagrain.hdl.handler.call import HandlerSignature
from adagrain.hdl.stream.packet import Packet, Reply
from adagrain.hdl.stream.pipeline import stallable
from adagrain.models.interface.protocol import Status

from .watchdog import Watchdog

__all__ = ["Dispatcher"]


class Dispatcher(wiring.Component):
    """Executes requests one after the other.

    The group is the upper half of the opcode. A request of a group without a handler gets
    ``UNKNOWN_OPCODE``. Whatever of the payload the handler left is dropped. The handler is called
    in the cycle after the opcode; payload and reply pass unchanged, an octet per cycle, the reply
    through a register.

    A handler that makes no progress for a number of cycles is given up, and to be reset; its
    request gets ``UNIT_RESET`` in place of whatever it has answered till then. Cycles in which it
    offers an octet that the link does not take, or wants one that the link does not have, do not
    count.

    Parameters
    ----------
    handlers : int
        How many groups have a handler: 1 to 16, from group 0 on.
    watchdog : int
        Cycles without progress after which a handler is given up.
    absent : tuple of int
        Groups whose unit was not built: their requests get ``UNSUPPORTED``.

    Members
    -------
    i : ``In(stream.Signature(Packet))``
        Requests: opcode, payload.
    length : ``In(16)``
        Octets of the payload; stable from the opcode until the reply's last octet.
    o : ``Out(stream.Signature(Reply))``
        Replies: status, payload.
    handler : ``Out(HandlerSignature()).array(handlers)``
        The handlers.
    reset : ``Out(handlers)``
        For one cycle, the handlers that are to be reset.
    resets : ``Out(16)``
        How often that was, modulo 2**16.

    Raises
    ------
    ValueError
        If there are too few or too many handlers, a group is absent that has one or that no opcode
        names, or ``watchdog`` is not positive.
    """

    def __init__(self, handlers: int, absent: tuple[int, ...] = (), *, watchdog: int) -> None:
        if not 1 <= handlers <= 16:
            raise ValueError(f"handlers must be from 1 to 16, not {handlers!r}")
        if not all(handlers <= group < 16 for group in absent):
            raise ValueError(f"absent groups must be from {handlers} to 15, not {absent!r}")
        if watchdog < 1:
            raise ValueError(f"watchdog must be positive, not {watchdog!r}")
        self._handlers = handlers
        self._absent = absent
        self._watchdog = watchdog
        super().__init__(
            {
                "i": In(stream.Signature(Packet)),
                "length": In(16),
                "o": Out(stream.Signature(Reply)),
                "handler": Out(HandlerSignature().flip()).array(handlers),
                "reset": Out(handlers),
                "resets": Out(16),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.watchdog = watchdog = Watchdog(self._watchdog)
        opcode = Signal(8)
        group = opcode[4:]
        payload_over = Signal()
        absent = sum((group == number for number in self._absent), Const(0))
        arrives = self.i.valid & self.i.ready
        reply = stream.Signature(Reply).create(path=("reply",))
        with m.If(stallable(m, reply, self.o, 1)):
            m.d.sync += self.o.payload.eq(reply.payload)
        replied = reply.valid & reply.ready & reply.payload.last

        m.d.sync += self.reset.eq(0)
        with m.If(arrives & self.i.payload.last):
            m.d.sync += payload_over.eq(1)

        with m.FSM():
            with m.State("OPCODE"):
                m.d.comb += self.i.ready.eq(1)
                m.d.sync += opcode.eq(self.i.payload.data)
                with m.If(arrives):
                    m.next = "CALL"
            with m.State("CALL"):
                with m.Switch(group):
                    for number, handler in enumerate(self.handler):
                        with m.Case(number):
                            m.d.comb += [handler.i_call.valid.eq(1), watchdog.watches.eq(1)]
                            m.d.comb += watchdog.progress.eq(handler.i_call.ready)
                            with m.If(handler.i_call.ready):
                                m.next = "EXECUTE"
                    with m.Default():
                        m.next = "UNKNOWN"
                self._give_up(m, group, watchdog)
            with m.State("EXECUTE"):
                with m.Switch(group):
                    for number, handler in enumerate(self.handler):
                        with m.Case(number):
                            self._join(m, handler, reply, payload_over, watchdog)
                with m.If(replied):
                    m.next = "DRAIN"
                self._give_up(m, group, watchdog)
            with m.State("UNKNOWN"):
                status = Mux(absent, Status.UNSUPPORTED, Status.UNKNOWN_OPCODE)
                self._answer(m, reply, status)
            with m.State("RESET"):
                self._answer(m, reply, Status.UNIT_RESET)
            with m.State("DRAIN"):
                m.d.comb += self.i.ready.eq(~payload_over)
                with m.If(payload_over):
                    m.d.sync += payload_over.eq(0)
                    m.next = "OPCODE"

        for handler in self.handler:
            m.d.comb += [
                handler.i_call.payload.opcode.eq(opcode),
                handler.i_call.payload.length.eq(self.length),
                handler.i.payload.eq(self.i.payload.data),
            ]
        return m

    def _join(
        self,
        m: Module,
        handler: wiring.PureInterface,
        reply: stream.Interface,
        payload_over: Signal,
        watchdog: Watchdog,
    ) -> None:
        """Let a handler take the payload, and answer, under the watchdog's eyes."""
        m.d.comb += [
            handler.i.valid.eq(self.i.valid & ~payload_over),
            self.i.ready.eq(handler.i.ready & ~payload_over),
            reply.payload.data.eq(handler.o.payload.data),
            reply.payload.last.eq(handler.o.payload.last),
            reply.valid.eq(handler.o.valid),
            handler.o.ready.eq(reply.ready),
            watchdog.watches.eq(1),
            watchdog.progress.eq(
                (handler.i.valid & handler.i.ready)
                | (handler.o.valid & handler.o.ready)
                | handler.progress
            ),
            watchdog.excused.eq(
                (handler.i.ready & ~self.i.valid & ~payload_over)
                | (handler.o.valid & ~handler.o.ready)
            ),
        ]

    def _give_up(self, m: Module, group: Value, watchdog: Watchdog) -> None:
        """Where the watchdog has lost its patience, reset the handler and say so."""
        with m.If(watchdog.expired):
            m.d.sync += [self.reset.eq(1 << group), self.resets.eq(self.resets + 1)]
            m.next = "RESET"

    def _answer(self, m: Module, reply: stream.Interface, status: Value | Status) -> None:
        """Answer with a status alone, whatever a handler has said before."""
        m.d.comb += [
            reply.payload.data.eq(status),
            reply.payload.last.eq(1),
            reply.payload.replaces.eq(1),
            reply.valid.eq(1),
        ]
        with m.If(reply.ready):
            m.next = "DRAIN"

"""Routes each request to the handler of its group, and the reply back."""

from amaranth.hdl import Const, Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from adagrain.models.protocol import Status

from ..packet import Packet
from ..pipeline import stallable
from .call import HandlerSignature

__all__ = ["Dispatcher"]


class Dispatcher(wiring.Component):
    """Executes requests one after the other.

    The group is the upper half of the opcode. A request of a group without a handler gets
    ``UNKNOWN_OPCODE``. Whatever of the payload the handler left is dropped. The handler is called
    in the cycle after the opcode; payload and reply pass unchanged, an octet per cycle, the reply
    through a register.

    Parameters
    ----------
    handlers : int
        How many groups have a handler: 1 to 16, from group 0 on.
    absent : tuple of int
        Groups whose unit was not built: their requests get ``UNSUPPORTED``.

    Members
    -------
    i : ``In(stream.Signature(Packet))``
        Requests: opcode, payload.
    length : ``In(16)``
        Octets of the payload; stable from the opcode until the reply's last octet.
    o : ``Out(stream.Signature(Packet))``
        Replies: status, payload.
    handler : ``Out(HandlerSignature()).array(handlers)``
        The handlers.
    """

    def __init__(self, handlers: int, absent: tuple[int, ...] = ()) -> None:
        if not 1 <= handlers <= 16:
            raise ValueError(f"handlers must be from 1 to 16, not {handlers!r}")
        if any(group < handlers for group in absent):
            raise ValueError(f"absent groups must be from {handlers} on, not {absent!r}")
        self._handlers = handlers
        self._absent = absent
        super().__init__(
            {
                "i": In(stream.Signature(Packet)),
                "length": In(16),
                "o": Out(stream.Signature(Packet)),
                "handler": Out(HandlerSignature().flip()).array(handlers),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        opcode = Signal(8)
        group = opcode[4:]
        payload_over = Signal()
        absent = sum((group == number for number in self._absent), Const(0))
        arrives = self.i.valid & self.i.ready
        reply = stream.Signature(Packet).create(path=("reply",))
        with m.If(stallable(m, reply, self.o, 1)):
            m.d.sync += self.o.payload.eq(reply.payload)
        replied = reply.valid & reply.ready & reply.payload.last

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
                            m.d.comb += handler.i_call.valid.eq(1)
                            with m.If(handler.i_call.ready):
                                m.next = "EXECUTE"
                    with m.Default():
                        m.next = "UNKNOWN"
            with m.State("EXECUTE"):
                with m.Switch(group):
                    for number, handler in enumerate(self.handler):
                        with m.Case(number):
                            self._join(m, handler, reply, payload_over)
                with m.If(replied):
                    m.next = "DRAIN"
            with m.State("UNKNOWN"):
                m.d.comb += [
                    reply.payload.data.eq(Mux(absent, Status.UNSUPPORTED, Status.UNKNOWN_OPCODE)),
                    reply.payload.last.eq(1),
                    reply.valid.eq(1),
                ]
                with m.If(replied):
                    m.next = "DRAIN"
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
    ) -> None:
        m.d.comb += [
            handler.i.valid.eq(self.i.valid & ~payload_over),
            self.i.ready.eq(handler.i.ready & ~payload_over),
            reply.payload.eq(handler.o.payload),
            reply.valid.eq(handler.o.valid),
            handler.o.ready.eq(reply.ready),
        ]

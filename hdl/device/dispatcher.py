"""Routes each request to the handler of its group, and the reply back."""

from collections.abc import Sequence

from amaranth.hdl import Module, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from adagrain.hdl.checks import check_integer, check_kind
from adagrain.hdl.handler.call import HandlerSignature
from adagrain.hdl.stream.packet import Packet, Reply
from adagrain.hdl.stream.pipeline import elastic
from adagrain.models.interface.protocol import Status
from adagrain.models.interface.units import UNITS, Payload, Unit

from .watchdog import Watchdog

__all__ = ["Dispatcher"]


class Dispatcher(wiring.Component):
    """Executes requests one after the other.

    What there is to execute is told by the descriptors of units. A request of a unit that was not
    built gets ``UNSUPPORTED``, one without an operation ``UNKNOWN_OPCODE``, one whose length is not
    that of its operation ``BAD_LENGTH``: handlers see none of these. Whatever of the payload the
    handler left is dropped. The handler is called two cycles after the opcode; payload and reply
    pass unchanged, a byte per cycle, the reply through a register.

    A handler that makes no progress for a number of cycles is given up, and to be reset; its
    request gets ``UNIT_RESET`` in place of whatever it has answered till then. Cycles in which it
    offers a byte that the link does not take, or wants one that the link does not have, do not
    count. A beat that leaves by the data port is progress, whosever it is: a handler may wait for
    those of others.

    Parameters
    ----------
    units : sequence of Unit
        Those that have a handler, each a group of its own.
    watchdog : int
        Cycles without progress after which a handler is given up.

    Members
    -------
    i : ``In(stream.Signature(Packet))``
        Requests: opcode, payload.
    length : ``In(16)``
        Bytes of the payload; stable from the opcode until the reply's last byte.
    o : ``Out(stream.Signature(Reply))``
        Replies: status, payload.
    sends : ``In(1)``
        A beat leaves by the data port.
    handler : ``Out(HandlerSignature()).array(len(units))``
        The handlers, in the order of the units.
    reset : ``Out(len(units))``
        For one cycle, the handlers that are to be reset.
    resets : ``Out(16)``
        How often that was, modulo 2**16.

    Raises
    ------
    TypeError, ValueError
        If there is no unit, one is none or has no operation, two have one group, or ``watchdog``
        is not positive.
    """

    def __init__(self, units: Sequence[Unit], *, watchdog: int) -> None:
        if not units:
            raise ValueError("units must be at least one, not none")
        for unit in units:
            check_kind("units", unit, Unit)
            if not unit.operations:
                raise ValueError(f"unit {unit.name!r} must have an operation, not none")
            if [other.group for other in units].count(unit.group) > 1:
                raise ValueError(f"group of unit {unit.name!r} must be its own, not {unit.group}")
        check_integer("watchdog", watchdog, 1)
        self._units = tuple(units)
        self._watchdog = watchdog
        super().__init__(
            {
                "i": In(stream.Signature(Packet)),
                "length": In(16),
                "o": Out(stream.Signature(Reply)),
                "sends": In(1),
                "handler": Out(HandlerSignature().flip()).array(len(units)),
                "reset": Out(len(units)),
                "resets": Out(16),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.watchdog = watchdog = Watchdog(self._watchdog)
        opcode = Signal(8)
        group = opcode[4:]
        refusal = Signal(Status)
        payload_over = Signal()
        arrives = self.i.valid & self.i.ready
        reply = stream.Signature(Reply).create(path=("reply",))
        with m.If(elastic(m, reply, self.o, 1)):
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
                    m.next = "CHECK"
            with m.State("CHECK"):
                self._check(m, opcode, refusal)
            with m.State("CALL"):
                with m.Switch(group):
                    for unit, handler in zip(self._units, self.handler, strict=True):
                        with m.Case(unit.group):
                            m.d.comb += [handler.i_call.valid.eq(1), watchdog.watches.eq(1)]
                            m.d.comb += watchdog.progress.eq(handler.i_call.ready | self.sends)
                            with m.If(handler.i_call.ready):
                                m.next = "EXECUTE"
                self._give_up(m, group, watchdog)
            with m.State("EXECUTE"):
                with m.Switch(group):
                    for unit, handler in zip(self._units, self.handler, strict=True):
                        with m.Case(unit.group):
                            self._join(m, handler, reply, payload_over, watchdog)
                with m.If(replied):
                    m.next = "DRAIN"
                self._give_up(m, group, watchdog)
            with m.State("REFUSED"):
                self._answer(m, reply, refusal)
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

    def _check(self, m: Module, opcode: Signal, refusal: Signal) -> None:
        """Refuse what is no operation of a handler, or cannot be one of this length."""
        m.d.sync += refusal.eq(Status.UNKNOWN_OPCODE)
        m.next = "REFUSED"
        for unit in UNITS.values():
            if unit.operations and unit not in self._units:
                with m.If(opcode[4:] == unit.group):
                    m.d.sync += refusal.eq(Status.UNSUPPORTED)
        with m.Switch(opcode):
            for unit in self._units:
                for operation in unit.operations:
                    with m.Case(operation.opcode):
                        m.d.sync += refusal.eq(Status.BAD_LENGTH)
                        with m.If(self._fits(operation.request)):
                            m.next = "CALL"

    def _fits(self, request: Payload) -> Value:
        """True if the length is that of such a request."""
        if request.items is None:
            return self.length == request.head_size
        least = request.head_size + request.least * request.item_size
        rest = self.length - request.head_size
        return (self.length >= least) & ~rest[: exact_log2(request.item_size)].any()

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
                | self.sends
            ),
            watchdog.excused.eq(
                (handler.i.ready & ~self.i.valid & ~payload_over)
                | (handler.o.valid & ~handler.o.ready)
            ),
        ]

    def _give_up(self, m: Module, group: Value, watchdog: Watchdog) -> None:
        """Reset the handler, and say so, once the watchdog has lost its patience."""
        with m.If(watchdog.expired):
            m.d.sync += self.resets.eq(self.resets + 1)
            for number, unit in enumerate(self._units):
                m.d.sync += self.reset[number].eq(group == unit.group)
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

"""The dispatcher: each request is answered once, whatever its handler does or leaves undone."""

from amaranth.hdl import Assert, Assume, Cover, Module, Signal
from amaranth.lib import stream
from amaranth.lib.wiring import In, connect, flipped

from adagrain.hdl.device import Dispatcher
from adagrain.hdl.stream.packet import Packet
from adagrain.models.interface.protocol import Status
from adagrain.models.interface.units import SYSTEM

from .harness import Proof, assume_stable, counted, demand_stable, transfers

__all__ = ["WatchdogProof"]

#: Cycles of the watchdog's patience, and most bytes of a payload and of a handler's answer.
_PATIENCE, _BYTES = 1, 2

#: Cycles that an answer may take: check, call, payload and reply may each time use the patience up.
_CYCLES = 2 * _BYTES * (_PATIENCE + 1) + 4


class WatchdogProof(Proof):
    """A handler may do anything in any cycle, but for an answer that is too long.

    While the link takes what is offered and gives what there is, a request is answered after a
    bounded number of cycles; each has one answer, and the handler is reset where that says so. One
    that no handler can take is refused without it. The link gives the next request when the one
    before is answered.
    """

    DEPTH = 15
    MUTANT = (
        "hdl/device/dispatcher.py",
        "(handler.i.ready & ~self.i.valid & ~payload_over)",
        "(handler.i.ready & ~handler.i.valid)",
    )

    def __init__(self) -> None:
        super().__init__(
            {
                "i": In(stream.Signature(Packet)),
                "ready": In(1),
                "takes_call": In(1),
                "takes": In(1),
                "says": In(1),
                "byte": In(Packet),
            }
        )

    def build(self, m: Module) -> None:
        m.submodules.dispatcher = dispatcher = Dispatcher((SYSTEM,), watchdog=_PATIENCE)
        connect(m, flipped(self.i), dispatcher.i)
        handler, o = dispatcher.handler[0], dispatcher.o
        m.d.comb += [
            handler.i_call.ready.eq(self.takes_call),
            handler.i.ready.eq(self.takes),
            handler.o.valid.eq(self.says),
            handler.o.payload.eq(self.byte),
            o.ready.eq(self.ready),
        ]
        assume_stable(m, self.i)
        demand_stable(m, o)

        ends, answered = transfers(self.i) & self.i.payload.last, transfers(o) & o.payload.last
        asked, over = Signal(), Signal()  # an opcode is in, and the last byte of its payload
        came, said = Signal(range(_BYTES + 2)), Signal(range(_BYTES + 2))
        waited = Signal(range(_CYCLES + 2))
        with m.If(transfers(self.i)):
            m.d.sync += [came.eq(came + 1), over.eq(ends)]
            m.d.comb += Assume((came < _BYTES) | self.i.payload.last)
            with m.If(came == 0):
                m.d.sync += asked.eq(1)
                m.d.comb += [Assume(~asked), Assume(self.i.payload.data[4:] == 0)]
        with m.If(transfers(handler.o)):
            m.d.comb += Assume((said < _BYTES - 1) | self.byte.last)
            m.d.sync += said.eq(said + 1)
        with m.If(asked & self.ready & (self.i.valid | over)):
            m.d.sync += waited.eq(waited + 1)
        with m.If(ends):
            m.d.sync += came.eq(0)
        with m.If(answered):
            m.d.sync += [asked.eq(0), said.eq(0), waited.eq(0)]
        m.d.comb += Assert(waited <= _CYCLES)

        gives_up = o.payload.replaces & (o.payload.data == Status.UNIT_RESET)
        refuses = o.payload.replaces & (o.payload.data != Status.UNIT_RESET)
        resets, replaced = counted(m, dispatcher.reset), counted(m, transfers(o) & gives_up)
        called = Signal()  # for the request that is under way
        with m.If(transfers(handler.i_call)):
            m.d.sync += called.eq(1)
        with m.If(answered):
            m.d.sync += called.eq(0)
        with m.If(transfers(o)):
            m.d.comb += Assert(asked)
        with m.If(o.valid & o.payload.replaces):
            m.d.comb += [
                Assert(o.payload.last),
                Assert(refuses | (resets == replaced + 1) | dispatcher.reset),
                Assert(gives_up | ~called),
            ]
        answers = counted(m, answered)
        m.d.comb += [
            Cover((answers == 2) & (replaced == 2)),
            Cover((answers == 2) & (replaced == 0) & over),
            Cover((said == 1) & o.valid & o.payload.replaces),
            Cover((answers == 1) & o.valid & refuses),
        ]

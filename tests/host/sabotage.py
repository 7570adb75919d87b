"""A device whose handlers stop in the middle of a request, where an ECHO has told them to."""

import enum
from dataclasses import dataclass

from amaranth.hdl import Cat, Module, Signal, Value, unsigned
from amaranth.lib import data, stream, wiring

from adagrain.hdl.device.coprocessor import Coprocessor

__all__ = ["Sabotage", "SabotagedCoprocessor", "Stage"]

_MAGIC = b"HANG"


class Stage(enum.IntEnum):
    """Deeds that a handler fails to do."""

    CALL = 0  #: take the request
    PAYLOAD = 1  #: take more bytes of its payload
    REPLY = 2  #: answer with more bytes, of which the status is the first
    PRETENCE = 3  #: as above, but it shows progress all the same


#: What is ordered; it comes behind the magic bytes.
_Order = data.StructLayout(
    {"opcode": unsigned(8), "stage": unsigned(8), "after": unsigned(8), "times": unsigned(8)}
)


@dataclass(frozen=True)
class Sabotage:
    """A request of an opcode hangs at a stage, after so many bytes; so many times.

    255 times are without an end.
    """

    opcode: enum.IntEnum
    stage: Stage
    after: int = 0
    times: int = 1

    def order(self) -> bytes:
        """Payload of an ECHO that orders it."""
        return _MAGIC + bytes([self.opcode, self.stage, self.after, self.times])


class SabotagedCoprocessor(Coprocessor):
    """The whole device, with gates between its dispatcher and its handlers.

    Orders last until they are carried out, or the device is reset. An ECHO that brings one is
    answered as ever.
    """

    def elaborate(self, platform: object) -> Module:
        self._order = Signal(_Order)
        return super().elaborate(platform)

    def _attach(
        self, m: Module, name: str, port: wiring.PureInterface, handler: wiring.PureInterface
    ) -> None:
        order, call = self._order, port.i_call
        if name == "system":
            self._take_orders(m, port.i)
        wanted = (call.payload.opcode == order.opcode) & (order.times != 0)
        is_hit, was_refused = Signal(), Signal()
        taken, said = Signal(16), Signal(16)
        no_call = wanted & (order.stage == Stage.CALL)
        no_payload = is_hit & (order.stage == Stage.PAYLOAD) & (taken == order.after)
        no_reply = is_hit & (order.stage >= Stage.REPLY) & (said == order.after)
        _gate(m, call, handler.i_call, no_call)
        _gate(m, port.i, handler.i, no_payload)
        _gate(m, handler.o, port.o, no_reply)
        pretends = no_reply & (order.stage == Stage.PRETENCE)
        m.d.comb += [
            port.progress.eq(handler.progress | pretends),
            handler.hello.eq(port.hello),
        ]

        m.d.sync += [
            taken.eq(taken + (port.i.valid & port.i.ready)),
            said.eq(said + (port.o.valid & port.o.ready)),
            was_refused.eq(call.valid & no_call),
        ]
        calls = call.valid & call.ready
        with m.If(calls):
            m.d.sync += [is_hit.eq(wanted), taken.eq(0), said.eq(0)]
        with m.If((calls & wanted | was_refused & ~call.valid) & (order.times != 255)):
            m.d.sync += order.times.eq(order.times - 1)

    def _take_orders(self, m: Module, raw: stream.Interface) -> None:
        seen = Signal(8 * len(_MAGIC) + _Order.size)
        with m.If(raw.valid & raw.ready):
            m.d.sync += seen.eq(Cat(seen[8:], raw.payload))
        with m.If(seen[: 8 * len(_MAGIC)] == int.from_bytes(_MAGIC, "little")):
            m.d.sync += [self._order.eq(seen[8 * len(_MAGIC) :]), seen.eq(0)]
        with m.If(self.restart):
            m.d.sync += self._order.eq(0)


def _gate(m: Module, source: stream.Interface, sink: stream.Interface, is_shut: Value) -> None:
    m.d.comb += [
        sink.payload.eq(source.payload),
        sink.valid.eq(source.valid & ~is_shut),
        source.ready.eq(sink.ready & ~is_shut),
    ]

"""What the state machines of all handlers do: take bytes, answer with a status, send records."""

from amaranth.hdl import Module, Signal, Value
from amaranth.lib import stream

from adagrain.hdl.stream.records import Deserializer, Serializer
from adagrain.models.interface.protocol import Status

from .call import HandlerSignature

__all__ = ["Exchange"]


class Exchange:
    """Adds a handler's steps to its state machine, in which the state ``IDLE`` awaits requests.

    Each method is called within a state, but for :meth:`reply_state`, which adds one.

    Parameters
    ----------
    m : Module
        The handler's.
    handler : ``HandlerSignature().create()``
        Its ports.
    reader : Deserializer
        Gathers the request's bytes.
    """

    def __init__(self, m: Module, handler: HandlerSignature, reader: Deserializer) -> None:
        self._m = m
        self._i, self._o = handler.i, handler.o
        self._reader = reader
        self._status = Signal(Status, name="status")
        m.d.comb += reader.i.payload.eq(self._i.payload)

    def reply(self, status: Status | Value) -> None:
        """Answer with a status alone."""
        self._m.d.sync += self._status.eq(status)
        self._m.next = "REPLY"

    def reply_state(self) -> None:
        """The state that :meth:`reply` goes to."""
        with self._m.State("REPLY"):
            self._m.d.comb += [self._o.payload.data.eq(self._status), self._o.payload.last.eq(1)]
            self.answer_then("IDLE")

    def answer_then(self, state: str) -> None:
        """Send the reply's first byte: status OK, unless another one is driven."""
        self._m.d.comb += self._o.valid.eq(1)
        with self._m.If(self._o.ready):
            self._m.next = state

    def take(self, size: int) -> Value:
        """Gather a record of so many bytes; high in the cycle in which it is there."""
        self._gather(size)
        self._m.d.comb += self._reader.o.ready.eq(1)
        return self._reader.o.valid

    def feed(self, size: int, port: stream.Interface) -> Value:
        """Gather a record for a port; high in the cycle in which the port takes it."""
        self._gather(size)
        self._m.d.comb += [
            port.valid.eq(self._reader.o.valid),
            self._reader.o.ready.eq(port.ready),
        ]
        return self._reader.o.valid & self._reader.o.ready

    def send_from(
        self, port: stream.Interface, serializer: Serializer, *, last: Value | int
    ) -> Value:
        """Send a port's record; high in the cycle in which it is taken."""
        self._m.d.comb += [serializer.i.valid.eq(port.valid), port.ready.eq(serializer.i.ready)]
        return self.send(serializer, last=last)

    def send(self, serializer: Serializer, *, last: Value | int) -> Value:
        """Send what a serializer is offered, whose end may be the reply's; high at the end."""
        self._m.d.comb += [
            self._o.payload.data.eq(serializer.o.payload.data),
            self._o.payload.last.eq(serializer.o.payload.last & last),
            self._o.valid.eq(serializer.o.valid),
            serializer.o.ready.eq(self._o.ready),
        ]
        return serializer.i.valid & serializer.i.ready

    def _gather(self, size: int) -> None:
        self._m.d.comb += [
            self._reader.size.eq(size),
            self._reader.i.valid.eq(self._i.valid),
            self._i.ready.eq(self._reader.i.ready),
        ]

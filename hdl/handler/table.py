"""What the handlers of tables do: write entries, read them, and let updates be decided."""

from amaranth.hdl import Module, Signal, Value
from amaranth.lib import data, stream
from amaranth.utils import exact_log2

from adagrain.hdl.stream.records import Deserializer, Serializer
from adagrain.models.interface.protocol import Status
from adagrain.models.interface.records import size as bytes_of
from adagrain.models.interface.units.ranges import First, Range

from .exchange import Exchange

__all__ = ["Table"]

_FIRST_BYTES = bytes_of(First)


class Table:
    """Adds to a handler's state machine the states that go through a table, entry by entry.

    The machine has a state ``IDLE``. A request to write is the first entry's number and the
    entries; one to read is the first entry's number and how many. Both are refused whole, before
    anything is written or read, where they leave the table.

    Parameters
    ----------
    m : Module
        The handler's.
    exchange : Exchange
        Its steps.
    reader : Deserializer
        Gathers the request's bytes.
    entries : int
        Number of entries.
    size : int
        Bytes of an entry: a power of two.
    payload : int
        Most bytes of a request or a reply.

    Attributes
    ----------
    entry : Signal, out
        Number of the entry that is written or read.
    left : Signal
        How many entries, or updates, are left.

    Raises
    ------
    ValueError
        If 16 bits cannot number the entries, or ``size`` is not a power of two.
    """

    def __init__(
        self,
        m: Module,
        exchange: Exchange,
        reader: Deserializer,
        *,
        entries: int,
        size: int,
        payload: int,
    ) -> None:
        if not 1 <= entries <= 1 << First.size:
            raise ValueError(f"entries must be from 1 to {1 << First.size}, not {entries!r}")
        _check_shift(size)
        self._m, self._exchange, self._gathered = m, exchange, reader.o.payload
        self._entries, self._size, self._payload = entries, size, payload
        self.entry = Signal(First.size, name="entry")
        self.left = Signal(range(payload + 1), name="left")

    def count(self, length: Value, size: int) -> None:
        """Set ``left`` to the entries, or updates, in so many bytes.

        Raises
        ------
        ValueError
            If ``size``, the bytes of one, is not a power of two: they are counted by a shift.
        """
        _check_shift(size)
        self._m.d.sync += self.left.eq(length >> exact_log2(size))

    def accept_write(self, length: Value) -> None:
        """Go on to write."""
        self._m.next = "WRITE"
        self.count(length - _FIRST_BYTES, self._size)

    def accept_read(self) -> None:
        """Go on to read."""
        self._m.next = "READ"

    def add_write(self, port: stream.Interface) -> None:
        """States that write through a port, whose payload has ``write``."""
        m, exchange = self._m, self._exchange
        with m.State("WRITE"):
            first = self._gathered[-First.size :]
            m.d.sync += self.entry.eq(first)
            with m.If(exchange.take(_FIRST_BYTES)):
                m.next = "WRITE_ENTRY"
                with m.If(self._outside(first, self.left)):
                    exchange.reply(Status.BAD_VALUE)
        with m.State("WRITE_ENTRY"):
            m.d.comb += port.p.write.eq(1)
            with m.If(exchange.feed(self._size, port)):
                self._count()
                with m.If(self.left == 1):
                    exchange.reply(Status.OK)

    def add_read(
        self, port: stream.Interface, found: stream.Interface, serializer: Serializer
    ) -> None:
        """States that ask a port for entries, and send what is found."""
        m, exchange = self._m, self._exchange
        wanted = data.View(Range, self._gathered[-Range.size :])
        with m.State("READ"):
            m.d.sync += [self.entry.eq(wanted.first), self.left.eq(wanted.count)]
            too_long = wanted.count * self._size > self._payload
            with m.If(exchange.take(bytes_of(Range))):
                m.next = "READ_STATUS"
                with m.If(too_long | self._outside(wanted.first, wanted.count)):
                    exchange.reply(Status.BAD_VALUE)
        with m.State("READ_STATUS"):
            exchange.answer_then("READ_ENTRY")
        with m.State("READ_ENTRY"):
            m.d.comb += port.valid.eq(1)
            with m.If(port.ready):
                m.next = "SEND_ENTRY"
        self._add_send("SEND_ENTRY", found, serializer, then="READ_ENTRY")

    def add_step(
        self,
        port: stream.Interface,
        length: int,
        decided: stream.Interface,
        serializer: Serializer,
    ) -> None:
        """States from ``STEP_STATUS``: feed an update of so many bytes, send its decision."""
        m, exchange = self._m, self._exchange
        with m.State("STEP_STATUS"):
            exchange.answer_then("UPDATE")
        with m.State("UPDATE"), m.If(exchange.feed(length, port)):
            m.next = "DECISION"
        self._add_send("DECISION", decided, serializer, then="UPDATE")

    def _add_send(
        self, state: str, port: stream.Interface, serializer: Serializer, *, then: str
    ) -> None:
        m = self._m
        with (
            m.State(state),
            m.If(self._exchange.send_from(port, serializer, last=self.left == 1)),
        ):
            self._count()
            m.next = then
            with m.If(self.left == 1):
                m.next = "IDLE"

    def _count(self) -> None:
        self._m.d.sync += [self.left.eq(self.left - 1), self.entry.eq(self.entry + 1)]

    def _outside(self, first: Value, count: Value) -> Value:
        return (count == 0) | (first + count > self._entries)


def _check_shift(size: int) -> None:
    if size < 1 or size & (size - 1):
        raise ValueError(f"size must be a power of two, not {size}")

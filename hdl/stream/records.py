"""Between bytes and records."""

from collections.abc import Sequence
from typing import Any

from amaranth.hdl import Cat, Module, Shape, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from adagrain.hdl.checks import check_integer

from .packet import Packet

__all__ = ["Deserializer", "Serializer"]


class Serializer(wiring.Component):
    """Sends records byte by byte, little end first, as one packet or several.

    It stores nothing: a record is taken from ``i`` together with its last byte, and must be
    stable until then, as every stream's payload is. One byte per cycle, latency 0.

    Parameters
    ----------
    length : int
        Size of the record, at least 1.

    Members
    -------
    i : ``In(stream.Signature(8 * length))``
        Records.
    last : ``In(1, init=1)``
        The record ends its packet.
    o : ``Out(stream.Signature(Packet))``
        Their bytes.

    Raises
    ------
    TypeError, ValueError
        If a parameter is not what it must be.
    """

    def __init__(self, length: int) -> None:
        check_integer("length", length, 1)
        self._length = length
        super().__init__(
            {
                "i": In(stream.Signature(8 * length)),
                "last": In(1, init=1),
                "o": Out(stream.Signature(Packet)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        index = Signal(range(self._length))
        ends = index == self._length - 1
        m.d.comb += [
            self.o.payload.data.eq(self.i.payload.word_select(index, 8)),
            self.o.payload.last.eq(ends & self.last),
            self.o.valid.eq(self.i.valid),
            self.i.ready.eq(self.o.ready & ends),
        ]
        with m.If(self.o.valid & self.o.ready):
            m.d.sync += index.eq(index + 1)
            with m.If(ends):
                m.d.sync += index.eq(0)
        return m


class Deserializer(wiring.Component):
    """Gathers bytes, little end first, into records of a size that may differ each time.

    One byte per cycle; a record is offered in the cycle after its last byte. While one is
    offered, no byte is taken.

    Parameters
    ----------
    length : int
        Size of the largest record, at least 1.

    Members
    -------
    size : ``In(range(length + 1))``
        Bytes of the record that is being gathered; stable until it is taken.
    i : ``In(stream.Signature(8))``
        Bytes.
    o : ``Out(stream.Signature(8 * length))``
        Record; its first byte is at bit ``8 * (length - size)``: a record of ``n`` bytes fills
        the upper end.

    Raises
    ------
    TypeError, ValueError
        If a parameter is not what it must be.
    """

    def __init__(self, length: int) -> None:
        check_integer("length", length, 1)
        self._length = length
        super().__init__(
            {
                "size": In(range(length + 1)),
                "i": In(stream.Signature(8)),
                "o": Out(stream.Signature(8 * length)),
            }
        )

    def record(self, shape: Any) -> Any:
        """The offered bytes as a record of a shape."""
        payload = self.o.payload
        raw = payload[len(payload) - Shape.cast(shape).width :]
        return shape(raw) if isinstance(shape, data.Layout) else raw

    def take(self, size: int) -> Sequence[Any]:
        """Statements for the cycles in which a record of so many bytes is gathered."""
        return self.size.eq(size), self.o.ready.eq(1)

    def feed(self, size: int, port: stream.Interface) -> Sequence[Any]:
        """Statements for the cycles in which one is gathered, and offered to a port."""
        return self.size.eq(size), port.valid.eq(self.o.valid), self.o.ready.eq(port.ready)

    @property
    def taken(self) -> Value:
        """High in the cycle in which a record is taken."""
        return self.o.valid & self.o.ready

    def elaborate(self, platform: object) -> Module:
        m = Module()
        count = Signal(range(self._length + 1))
        m.d.comb += [
            self.i.ready.eq(count != self.size),
            self.o.valid.eq((count == self.size) & (count != 0)),
        ]
        with m.If(self.i.valid & self.i.ready):
            m.d.sync += self.o.payload.eq(Cat(self.o.payload[8:], self.i.payload))
            m.d.sync += count.eq(count + 1)
        with m.If(self.o.valid & self.o.ready):
            m.d.sync += count.eq(0)
        return m

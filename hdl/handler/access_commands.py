"""The requests that write the entries of a unit's table, and read them."""

from amaranth.hdl import Module, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped
from amaranth.utils import exact_log2

from adagrain.hdl.checks import check_kind
from adagrain.hdl.stream.records import Deserializer, Serializer
from adagrain.models.interface.configuration import Configuration
from adagrain.models.interface.protocol import Status
from adagrain.models.interface.records import size
from adagrain.models.interface.units import Unit
from adagrain.models.interface.units.ranges import First, Range

from .access import access_layout
from .answer import Answer
from .call import HandlerSignature

__all__ = ["AccessCommands"]


class AccessCommands(wiring.Component):
    """Handler of the two requests to a unit's table, for any unit that declares one.

    A request to write is the first item's number and the items; one to read is the first item's
    number and how many. Either is refused whole, before anything is written or read, where it
    leaves the table. It does not decide on entries: :class:`StepCommands` does.

    Parameters
    ----------
    configuration : Configuration
        What the device is built with.
    unit : Unit
        Its descriptor.

    Members
    -------
    handler : ``Out(HandlerSignature())``
        Requests and replies.
    o : ``Out(stream.Signature(access_layout(unit)))``
        Items that are to be written or read.
    i : ``In(stream.Signature(unit.item))``
        Those that were to be read.

    Raises
    ------
    TypeError, ValueError
        If a parameter is not what it must be, the unit keeps no table, or 16 bits cannot number
        its items.
    """

    def __init__(self, configuration: Configuration, unit: Unit) -> None:
        check_kind("configuration", configuration, Configuration)
        check_kind("unit", unit, Unit)
        self._unit, self._payload = unit, configuration.payload
        self._items = unit.items(configuration)
        if not 1 <= self._items <= 1 << First.size:
            raise ValueError(
                f"table of {unit.name} must have from 1 to {1 << First.size} items, "
                f"not {self._items}"
            )
        super().__init__(
            {
                "handler": Out(HandlerSignature()),
                "o": Out(stream.Signature(access_layout(unit))),
                "i": In(stream.Signature(unit.item)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        unit, item_size = self._unit, self._unit.item_size
        m.submodules.reader = reader = Deserializer(max(item_size, size(Range)))
        m.submodules.item = item = Serializer(item_size)
        m.submodules.answer = answer = Answer(1)
        connect(m, flipped(self.handler.i), reader.i)
        connect(m, flipped(self.i), item.i)
        connect(m, item.o, answer.i[0])
        connect(m, answer.o, flipped(self.handler.o))
        call, access = self.handler.i_call, self.o
        first, wanted = reader.record(First).first, reader.record(Range)
        number, left = Signal(First.size), Signal(range(self._payload + 1))
        m.d.comb += [
            access.p.number.eq(number),
            access.p.item.eq(reader.record(unit.item)),
            item.last.eq(left == 1),
        ]

        with m.FSM():
            with m.State("IDLE"):
                m.d.comb += call.ready.eq(1)
                m.d.sync += left.eq((call.p.length - size(First)) >> exact_log2(item_size))
                with m.If(call.valid):
                    m.next = "RANGE"
                    with m.If(call.p.opcode == unit.write.opcode):
                        m.next = "FIRST"
            with m.State("FIRST"):
                m.d.comb += reader.take(size(First))
                m.d.sync += number.eq(first)
                with m.If(reader.taken):
                    m.next = "WRITE"
                    with m.If(self._outside(first, left)):
                        m.d.comb += answer.give(Status.BAD_VALUE)
                        m.next = "IDLE"
            with m.State("WRITE"):
                m.d.comb += [*reader.feed(item_size, access), access.p.write.eq(1)]
                with m.If(reader.taken):
                    m.d.sync += [number.eq(number + 1), left.eq(left - 1)]
                    with m.If(left == 1):
                        m.d.comb += answer.give(Status.OK)
                        m.next = "IDLE"
            with m.State("RANGE"):
                m.d.comb += reader.take(size(Range))
                m.d.sync += [number.eq(wanted.first), left.eq(wanted.count)]
                too_long = wanted.count * item_size > self._payload
                with m.If(reader.taken):
                    m.d.comb += answer.give(Status.OK, body=1)
                    m.next = "READ"
                    with m.If(too_long | self._outside(wanted.first, wanted.count)):
                        m.d.comb += answer.give(Status.BAD_VALUE)
                        m.next = "IDLE"
            with m.State("READ"):
                m.d.comb += access.valid.eq(1)
                with m.If(access.ready):
                    m.next = "SEND"
            with m.State("SEND"):
                with m.If(item.i.valid & item.i.ready):
                    m.d.sync += [number.eq(number + 1), left.eq(left - 1)]
                    m.next = "READ"
                    with m.If(left == 1):
                        m.next = "IDLE"
        return m

    def _outside(self, first: Value, count: Value) -> Value:
        return (count == 0) | (first + count > self._items)

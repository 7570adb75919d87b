"""Requests for the precision controller: records, and updates that it decides."""

from amaranth.hdl import Module, Signal, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.wiring import Out

from adagrain.models.configuration import Configuration
from adagrain.models.protocol import Opcode, Status
from adagrain.models.records import PrecisionDecision, PrecisionRecord, PrecisionUpdate, size

from ..precision_controller import PrecisionController
from .call import HandlerSignature
from .exchange import Exchange
from .serial import Deserializer, Serializer

__all__ = ["PrecisionCommands"]

_First = unsigned(16)
_Range = data.StructLayout({"first": unsigned(16), "count": unsigned(8)})


class PrecisionCommands(wiring.Component):
    """Handler of group 4, with the precision controller.

    Parameters
    ----------
    configuration : Configuration
        What the device is built with; it has a record for each region.

    Members
    -------
    handler : ``Out(HandlerSignature())``
        Requests and replies.
    """

    def __init__(self, configuration: Configuration) -> None:
        self._configuration = configuration
        super().__init__({"handler": Out(HandlerSignature())})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.controller = controller = PrecisionController(self._configuration.regions)
        m.submodules.octets = octets = Deserializer(size(PrecisionRecord))
        m.submodules.record = record = Serializer(size(PrecisionRecord))
        m.submodules.decision = decision = Serializer(size(PrecisionDecision))

        exchange = Exchange(m, self.handler, octets)
        call, access = self.handler.i_call, controller.i_access
        gathered = octets.o.payload
        wanted = data.View(_Range, gathered[-_Range.size :])
        unit, left = Signal(_First), Signal(range(self._configuration.payload + 1))
        m.d.comb += [
            access.p.unit.eq(unit),
            access.p.record.eq(gathered),
            controller.i.payload.eq(gathered[-PrecisionUpdate.size :]),
            record.i.payload.eq(controller.o_access.payload),
            decision.i.payload.eq(controller.o.payload),
        ]

        def one_less() -> None:
            m.d.sync += [left.eq(left - 1), unit.eq(unit + 1)]

        with m.FSM():
            with m.State("IDLE"):
                m.d.comb += call.ready.eq(1)
                with m.If(call.valid):
                    self._accept(m, exchange, left)
            with m.State("WRITE"):
                first = gathered[-_First.width :]
                m.d.sync += unit.eq(first)
                with m.If(exchange.take(_First.width // 8)):
                    m.next = "WRITE_RECORD"
                    with m.If(first + left > self._configuration.regions):
                        exchange.reply(Status.BAD_VALUE)
            with m.State("WRITE_RECORD"):
                m.d.comb += access.p.write.eq(1)
                with m.If(exchange.feed(size(PrecisionRecord), access)):
                    one_less()
                    with m.If(left == 1):
                        exchange.reply(Status.OK)
            with m.State("READ"):
                m.d.sync += [unit.eq(wanted.first), left.eq(wanted.count)]
                last = wanted.first + wanted.count
                too_long = wanted.count * size(PrecisionRecord) > self._configuration.payload
                with m.If(exchange.take(size(_Range))):
                    m.next = "READ_STATUS"
                    outside = last > self._configuration.regions
                    with m.If((wanted.count == 0) | outside | too_long):
                        exchange.reply(Status.BAD_VALUE)
            with m.State("READ_STATUS"):
                exchange.answer_then("READ_RECORD")
            with m.State("READ_RECORD"):
                m.d.comb += access.valid.eq(1)
                with m.If(access.ready):
                    m.next = "SEND_RECORD"
            with m.State("SEND_RECORD"):
                with m.If(exchange.send_from(controller.o_access, record, last=left == 1)):
                    one_less()
                    m.next = "READ_RECORD"
                    with m.If(left == 1):
                        m.next = "IDLE"
            with m.State("STEP_STATUS"):
                exchange.answer_then("UPDATE")
            with m.State("UPDATE"):
                with m.If(exchange.feed(size(PrecisionUpdate), controller.i)):
                    m.next = "DECISION"
            with m.State("DECISION"):
                with m.If(exchange.send_from(controller.o, decision, last=left == 1)):
                    one_less()
                    m.next = "UPDATE"
                    with m.If(left == 1):
                        m.next = "IDLE"
            exchange.reply_state()
        return m

    def _accept(self, m: Module, exchange: Exchange, left: Signal) -> None:
        """What can be told from opcode and length alone; how many records or updates follow."""
        length = self.handler.i_call.payload.length
        octets = length - _First.width // 8
        with m.Switch(self.handler.i_call.payload.opcode):
            with m.Case(Opcode.PRECISION_WRITE):
                m.d.sync += left.eq(octets // size(PrecisionRecord))
                m.next = "WRITE"
                whole = octets % size(PrecisionRecord) == 0
                with m.If((length <= _First.width // 8) | ~whole):
                    exchange.reply(Status.BAD_LENGTH)
            with m.Case(Opcode.PRECISION_READ):
                m.next = "READ"
                with m.If(length != size(_Range)):
                    exchange.reply(Status.BAD_LENGTH)
            with m.Case(Opcode.PRECISION_STEP):
                m.d.sync += left.eq(length // size(PrecisionUpdate))
                m.next = "STEP_STATUS"
                with m.If((length == 0) | (length % size(PrecisionUpdate) != 0)):
                    exchange.reply(Status.BAD_LENGTH)
            with m.Default():
                exchange.reply(Status.UNKNOWN_OPCODE)

"""Requests for the precision controller: records, and updates that it decides."""

from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import Out

from adagrain.hdl.checks import check_kind
from adagrain.hdl.handler.call import HandlerSignature
from adagrain.hdl.handler.exchange import Exchange
from adagrain.hdl.handler.table import Table
from adagrain.hdl.stream.records import Deserializer, Serializer
from adagrain.models.interface.configuration import Configuration
from adagrain.models.interface.records import size
from adagrain.models.interface.units.precision_controller import (
    PrecisionDecision,
    PrecisionOpcode,
    PrecisionRecord,
    PrecisionUpdate,
)

from . import PrecisionController

__all__ = ["PrecisionCommands"]


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

    Raises
    ------
    TypeError, ValueError
        If a parameter is not what it must be.
    """

    def __init__(self, configuration: Configuration) -> None:
        check_kind("configuration", configuration, Configuration)
        self._configuration = configuration
        super().__init__({"handler": Out(HandlerSignature())})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.controller = controller = PrecisionController(self._configuration.regions)
        m.submodules.reader = reader = Deserializer(size(PrecisionRecord))
        m.submodules.record = record = Serializer(size(PrecisionRecord))
        m.submodules.decision = decision = Serializer(size(PrecisionDecision))

        exchange = Exchange(m, self.handler, reader)
        call, access = self.handler.i_call, controller.i_access
        gathered = reader.o.payload
        table = Table(
            m,
            exchange,
            reader,
            entries=self._configuration.regions,
            size=size(PrecisionRecord),
            payload=self._configuration.payload,
        )
        m.d.comb += [
            access.p.unit.eq(table.entry),
            access.p.record.eq(gathered),
            controller.i.payload.eq(gathered[-PrecisionUpdate.size :]),
            record.i.payload.eq(controller.o_access.payload),
            decision.i.payload.eq(controller.o.payload),
        ]

        with m.FSM():
            with m.State("IDLE"):
                m.d.comb += call.ready.eq(1)
                with m.If(call.valid):
                    self._accept(m, exchange, table)
            table.add_write(access)
            table.add_read(access, controller.o_access, record)
            table.add_step(controller.i, size(PrecisionUpdate), controller.o, decision)
            exchange.reply_state()
        return m

    def _accept(self, m: Module, exchange: Exchange, table: Table) -> None:
        """Where requests go on, and how many records or updates follow."""
        length = self.handler.i_call.payload.length
        with m.Switch(self.handler.i_call.payload.opcode):
            with m.Case(PrecisionOpcode.WRITE):
                table.accept_write(length)
            with m.Case(PrecisionOpcode.READ):
                table.accept_read()
            with m.Case(PrecisionOpcode.STEP):
                table.count(length, size(PrecisionUpdate))
                m.next = "STEP_STATUS"

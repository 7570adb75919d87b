"""Requests for ``region_manager``: the table, the parameters, and steps."""

from amaranth.hdl import Module
from amaranth.lib import data, wiring
from amaranth.lib.wiring import Out

from adagrain.hdl.checks import check_kind
from adagrain.hdl.handler.call import HandlerSignature
from adagrain.hdl.handler.exchange import Exchange
from adagrain.hdl.handler.table import Table
from adagrain.hdl.stream.records import Deserializer, Serializer
from adagrain.models.interface.configuration import Configuration
from adagrain.models.interface.protocol import Status
from adagrain.models.interface.records import size
from adagrain.models.interface.units.region_manager import (
    MAX_WORKERS,
    WORD,
    WORDS_PER_REGION,
    Decision,
    RegionOpcode,
    RegionParameters,
    RegionStep,
    RegionUpdate,
)

from . import RegionManager

__all__ = ["RegionCommands"]


class RegionCommands(wiring.Component):
    """Handler of group 2, with the Region Manager.

    Parameters
    ----------
    configuration : Configuration
        What the device is built with.

    Members
    -------
    handler : ``Out(HandlerSignature())``
        Requests and replies.
    decisions, decision_cycles : ``Out(32)``
        As in :class:`~adagrain.hdl.region_manager.RegionManager`.

    Raises
    ------
    TypeError, ValueError
        If a parameter is not what it must be.
    """

    def __init__(self, configuration: Configuration) -> None:
        check_kind("configuration", configuration, Configuration)
        self._configuration = configuration
        super().__init__(
            {
                "handler": Out(HandlerSignature()),
                "decisions": Out(32),
                "decision_cycles": Out(32),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.reader = reader = Deserializer(size(RegionParameters))
        m.submodules.manager = manager = RegionManager(self._configuration)
        m.submodules.word = word = Serializer(WORD)
        m.submodules.decision = decision = Serializer(size(Decision))
        m.submodules.parameters = parameters = Serializer(size(RegionParameters))

        exchange = Exchange(m, self.handler, reader)
        call, access = self.handler.i_call, manager.i_access
        gathered = reader.o.payload
        table = Table(
            m,
            exchange,
            reader,
            entries=self._configuration.regions * WORDS_PER_REGION,
            size=WORD,
            payload=self._configuration.payload,
        )
        m.d.comb += [
            manager.i_parameters.payload.eq(gathered),
            manager.i_parameters.payload["_reserved"].eq(0),
            manager.i_step.payload.eq(gathered[-RegionStep.size :]),
            manager.i.payload.eq(gathered[-RegionUpdate.size :]),
            access.p.address.eq(table.entry),
            access.p.data.eq(gathered[-8 * WORD :]),
            word.i.payload.eq(manager.o_access.payload),
            decision.i.payload.eq(manager.o.payload),
            parameters.i.payload.eq(manager.parameters),
            self.decisions.eq(manager.decisions),
            self.decision_cycles.eq(manager.decision_cycles),
        ]

        with m.FSM():
            with m.State("IDLE"):
                m.d.comb += call.ready.eq(1)
                with m.If(call.valid):
                    self._accept(m, exchange, table, manager)
            table.add_write(access)
            table.add_read(access, manager.o_access, word)
            table.add_step(manager.i, size(RegionUpdate), manager.o, decision)
            with m.State("PARAMETERS"):
                workers = data.View(RegionParameters, gathered).workers
                unfit = (workers == 0) | (workers > MAX_WORKERS)
                fed = exchange.feed(size(RegionParameters), manager.i_parameters)
                with m.If(unfit):
                    m.d.comb += [manager.i_parameters.valid.eq(0), reader.o.ready.eq(1)]
                with m.If(fed):
                    exchange.reply(Status.OK)
                    with m.If(unfit):
                        exchange.reply(Status.BAD_VALUE)
            with m.State("STATE_STATUS"):
                exchange.answer_then("STATE")
            with m.State("STATE"):
                m.d.comb += parameters.i.valid.eq(1)
                with m.If(exchange.send(parameters, last=1)):
                    m.next = "IDLE"
            with m.State("STEP"):
                with m.If(exchange.feed(size(RegionStep), manager.i_step)):
                    m.next = "STEP_STATUS"
                    with m.If(table.left == 0):
                        exchange.reply(Status.OK)
            exchange.reply_state()
        return m

    def _accept(self, m: Module, exchange: Exchange, table: Table, manager: RegionManager) -> None:
        """What can be told before the payload; how many entries or updates follow."""
        length = self.handler.i_call.payload.length
        with m.Switch(self.handler.i_call.payload.opcode):
            with m.Case(RegionOpcode.WRITE):
                table.accept_write(length)
            with m.Case(RegionOpcode.READ):
                table.accept_read()
            with m.Case(RegionOpcode.PARAMETERS):
                m.next = "PARAMETERS"
            with m.Case(RegionOpcode.STATE):
                m.next = "STATE_STATUS"
            with m.Case(RegionOpcode.STEP):
                m.next = "STEP"
                table.count(length - size(RegionStep), size(RegionUpdate))
                with m.If(manager.parameters.workers == 0):
                    exchange.reply(Status.NO_PARAMETERS)

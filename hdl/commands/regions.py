"""Requests for ``region_manager``: the table, the parameters, and steps."""

from amaranth.hdl import Module, Signal, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.wiring import Out

from adagrain.models.commands import WORDS_PER_REGION
from adagrain.models.configuration import Configuration
from adagrain.models.protocol import Opcode, Status
from adagrain.models.records import Decision, RegionParameters, RegionStep, RegionUpdate, size
from adagrain.models.region_manager import WORD
from adagrain.models.region_settings import MAX_WORKERS

from ..region_manager import RegionManager
from .call import HandlerSignature
from .exchange import Exchange
from .serial import Deserializer, Serializer

__all__ = ["RegionCommands"]

_First = unsigned(16)
_Range = data.StructLayout({"first": unsigned(16), "count": unsigned(8)})


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
    """

    def __init__(self, configuration: Configuration) -> None:
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
        m.submodules.octets = octets = Deserializer(size(RegionParameters))
        m.submodules.manager = manager = RegionManager(self._configuration)
        m.submodules.word = word = Serializer(WORD)
        m.submodules.decision = decision = Serializer(size(Decision))
        m.submodules.parameters = parameters = Serializer(size(RegionParameters))

        exchange = Exchange(m, self.handler, octets)
        call = self.handler.i_call
        gathered = octets.o.payload
        wanted = data.View(_Range, gathered[-_Range.size :])
        left = Signal(range(self._configuration.payload + 1))
        address = Signal(16)

        m.d.comb += [
            manager.i_parameters.payload.eq(gathered),
            manager.i_step.payload.eq(gathered[-RegionStep.size :]),
            manager.i.payload.eq(gathered[-RegionUpdate.size :]),
            manager.i_access.payload.address.eq(address),
            manager.i_access.payload.data.eq(gathered[-8 * WORD :]),
            word.i.payload.eq(manager.o_access.payload),
            decision.i.payload.eq(manager.o.payload),
            parameters.i.payload.eq(manager.parameters),
            self.decisions.eq(manager.decisions),
            self.decision_cycles.eq(manager.decision_cycles),
        ]

        def one_less() -> None:
            m.d.sync += [left.eq(left - 1), address.eq(address + 1)]

        with m.FSM():
            with m.State("IDLE"):
                m.d.comb += call.ready.eq(1)
                with m.If(call.valid):
                    self._accept(m, exchange, left)
            with m.State("WRITE"):
                first = gathered[-_First.width :]
                m.d.sync += address.eq(first)
                with m.If(exchange.take(_First.width // 8)):
                    m.next = "WRITE_WORDS"
                    with m.If(self._outside(first, left)):
                        exchange.reply(Status.BAD_VALUE)
            with m.State("WRITE_WORDS"):
                m.d.comb += manager.i_access.payload.write.eq(1)
                with m.If(exchange.feed(WORD, manager.i_access)):
                    one_less()
                    with m.If(left == 1):
                        exchange.reply(Status.OK)
            with m.State("READ"):
                m.d.sync += [address.eq(wanted.first), left.eq(wanted.count)]
                too_long = wanted.count * WORD > self._configuration.payload
                with m.If(exchange.take(size(_Range))):
                    m.next = "READ_STATUS"
                    with m.If(too_long | self._outside(wanted.first, wanted.count)):
                        exchange.reply(Status.BAD_VALUE)
            with m.State("READ_STATUS"):
                exchange.answer_then("READ_WORD")
            with m.State("READ_WORD"):
                m.d.comb += manager.i_access.valid.eq(1)
                with m.If(manager.i_access.ready):
                    m.next = "SEND_WORD"
            with m.State("SEND_WORD"):
                with m.If(exchange.send_from(manager.o_access, word, last=left == 1)):
                    one_less()
                    m.next = "READ_WORD"
                    with m.If(left == 1):
                        m.next = "IDLE"
            with m.State("PARAMETERS"):
                workers = data.View(RegionParameters, gathered).workers
                unfit = (workers == 0) | (workers > MAX_WORKERS)
                fed = exchange.feed(size(RegionParameters), manager.i_parameters)
                with m.If(unfit):
                    m.d.comb += [manager.i_parameters.valid.eq(0), octets.o.ready.eq(1)]
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
                    with m.If(left == 0):
                        exchange.reply(Status.OK)
            with m.State("STEP_STATUS"):
                exchange.answer_then("UPDATE")
            with m.State("UPDATE"):
                with m.If(exchange.feed(size(RegionUpdate), manager.i)):
                    m.next = "DECISION"
            with m.State("DECISION"):
                with m.If(exchange.send_from(manager.o, decision, last=left == 1)):
                    one_less()
                    m.next = "UPDATE"
                    with m.If(left == 1):
                        m.next = "IDLE"
            exchange.reply_state()
        return m

    def _accept(self, m: Module, exchange: Exchange, left: Signal) -> None:
        """What can be told from opcode and length alone; how many words or updates follow."""
        length = self.handler.i_call.payload.length
        words = length - _First.width // 8
        updates = length - size(RegionStep)
        with m.Switch(self.handler.i_call.payload.opcode):
            with m.Case(Opcode.REGIONS_WRITE):
                m.d.sync += left.eq(words // WORD)
                m.next = "WRITE"
                with m.If((length < WORD) | (words % WORD != 0)):
                    exchange.reply(Status.BAD_LENGTH)
            with m.Case(Opcode.REGIONS_READ):
                m.next = "READ"
                with m.If(length != size(_Range)):
                    exchange.reply(Status.BAD_LENGTH)
            with m.Case(Opcode.REGIONS_PARAMETERS):
                m.next = "PARAMETERS"
                with m.If(length != size(RegionParameters)):
                    exchange.reply(Status.BAD_LENGTH)
            with m.Case(Opcode.REGIONS_STATE):
                m.next = "STATE_STATUS"
                with m.If(length != 0):
                    exchange.reply(Status.BAD_LENGTH)
            with m.Case(Opcode.REGIONS_STEP):
                m.d.sync += left.eq(updates // size(RegionUpdate))
                m.next = "STEP"
                with m.If((length < size(RegionStep)) | (updates % size(RegionUpdate) != 0)):
                    exchange.reply(Status.BAD_LENGTH)
            with m.Default():
                exchange.reply(Status.UNKNOWN_OPCODE)

    def _outside(self, first: Signal, count: Signal) -> Signal:
        words = self._configuration.regions * WORDS_PER_REGION
        return (count == 0) | (first + count > words)

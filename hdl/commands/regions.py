"""Requests for ``region_manager``: the table, the parameters, and steps."""

from collections.abc import Callable

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
from .serial import Deserializer, Serializer

__all__ = ["RegionCommands"]

Reply = Callable[[Status], None]

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

        call, i, o = self.handler.i_call, self.handler.i, self.handler.o
        gathered = octets.o.payload
        wanted = data.View(_Range, gathered[-_Range.size :])
        status = Signal(Status)
        left = Signal(16)
        address = Signal(16)

        m.d.comb += [
            octets.i.payload.eq(i.payload),
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

        def reply(code: Status) -> None:
            m.d.sync += status.eq(code)
            m.next = "REPLY"

        def take(octet_count: int) -> None:
            m.d.comb += [
                octets.size.eq(octet_count),
                octets.i.valid.eq(i.valid),
                i.ready.eq(octets.i.ready),
            ]

        def status_then(state: str) -> None:
            m.d.comb += o.valid.eq(1)
            with m.If(o.ready):
                m.next = state

        def send(serializer: Serializer, last: Signal | int) -> None:
            m.d.comb += [
                o.payload.data.eq(serializer.o.payload.data),
                o.payload.last.eq(serializer.o.payload.last & last),
                o.valid.eq(serializer.o.valid),
                serializer.o.ready.eq(o.ready),
            ]

        def one_less() -> None:
            m.d.sync += [left.eq(left - 1), address.eq(address + 1)]

        with m.FSM():
            with m.State("IDLE"):
                m.d.comb += call.ready.eq(1)
                with m.If(call.valid):
                    self._accept(m, reply, left)
            with m.State("WRITE"):
                take(_First.width // 8)
                m.d.comb += octets.o.ready.eq(1)
                m.d.sync += address.eq(gathered[-_First.width :])
                with m.If(octets.o.valid):
                    m.next = "WRITE_WORDS"
                    with m.If(self._outside(gathered[-_First.width :], left)):
                        reply(Status.BAD_VALUE)
            with m.State("WRITE_WORDS"):
                take(WORD)
                m.d.comb += [
                    manager.i_access.valid.eq(octets.o.valid),
                    manager.i_access.payload.write.eq(1),
                    octets.o.ready.eq(manager.i_access.ready),
                ]
                with m.If(octets.o.valid & octets.o.ready):
                    one_less()
                    with m.If(left == 1):
                        reply(Status.OK)
            with m.State("READ"):
                take(size(_Range))
                m.d.comb += octets.o.ready.eq(1)
                m.d.sync += [address.eq(wanted.first), left.eq(wanted.count)]
                too_long = wanted.count * WORD > self._configuration.payload
                with m.If(octets.o.valid):
                    m.next = "READ_STATUS"
                    with m.If(too_long | self._outside(wanted.first, wanted.count)):
                        reply(Status.BAD_VALUE)
            with m.State("READ_STATUS"):
                status_then("READ_WORD")
            with m.State("READ_WORD"):
                m.d.comb += manager.i_access.valid.eq(1)
                with m.If(manager.i_access.ready):
                    m.next = "SEND_WORD"
            with m.State("SEND_WORD"):
                m.d.comb += [
                    word.i.valid.eq(manager.o_access.valid),
                    manager.o_access.ready.eq(word.i.ready),
                ]
                send(word, last=left == 1)
                with m.If(word.i.valid & word.i.ready):
                    one_less()
                    m.next = "READ_WORD"
                    with m.If(left == 1):
                        m.next = "IDLE"
            with m.State("PARAMETERS"):
                take(size(RegionParameters))
                workers = data.View(RegionParameters, gathered).workers
                unfit = (workers == 0) | (workers > MAX_WORKERS)
                m.d.comb += [
                    manager.i_parameters.valid.eq(octets.o.valid & ~unfit),
                    octets.o.ready.eq(manager.i_parameters.ready | unfit),
                ]
                with m.If(octets.o.valid & octets.o.ready):
                    reply(Status.OK)
                    with m.If(unfit):
                        reply(Status.BAD_VALUE)
            with m.State("STATE_STATUS"):
                status_then("STATE")
            with m.State("STATE"):
                m.d.comb += parameters.i.valid.eq(1)
                send(parameters, last=1)
                with m.If(parameters.i.ready):
                    m.next = "IDLE"
            with m.State("STEP"):
                take(size(RegionStep))
                m.d.comb += [
                    manager.i_step.valid.eq(octets.o.valid),
                    octets.o.ready.eq(manager.i_step.ready),
                ]
                with m.If(octets.o.valid & octets.o.ready):
                    m.next = "STEP_STATUS"
                    with m.If(left == 0):
                        reply(Status.OK)
            with m.State("STEP_STATUS"):
                status_then("UPDATE")
            with m.State("UPDATE"):
                take(size(RegionUpdate))
                m.d.comb += [
                    manager.i.valid.eq(octets.o.valid),
                    octets.o.ready.eq(manager.i.ready),
                ]
                with m.If(octets.o.valid & octets.o.ready):
                    m.next = "DECISION"
            with m.State("DECISION"):
                m.d.comb += [
                    decision.i.valid.eq(manager.o.valid),
                    manager.o.ready.eq(decision.i.ready),
                ]
                send(decision, last=left == 1)
                with m.If(decision.i.valid & decision.i.ready):
                    one_less()
                    m.next = "UPDATE"
                    with m.If(left == 1):
                        m.next = "IDLE"
            with m.State("REPLY"):
                m.d.comb += [o.payload.data.eq(status), o.payload.last.eq(1), o.valid.eq(1)]
                with m.If(o.ready):
                    m.next = "IDLE"
        return m

    def _accept(self, m: Module, reply: Reply, left: Signal) -> None:
        """What can be told from opcode and length alone; how many words or updates follow."""
        length = self.handler.i_call.payload.length
        words = length - _First.width // 8
        updates = length - size(RegionStep)
        with m.Switch(self.handler.i_call.payload.opcode):
            with m.Case(Opcode.REGIONS_WRITE):
                m.d.sync += left.eq(words // WORD)
                m.next = "WRITE"
                with m.If((length < WORD) | (words % WORD != 0)):
                    reply(Status.BAD_LENGTH)
            with m.Case(Opcode.REGIONS_READ):
                m.next = "READ"
                with m.If(length != size(_Range)):
                    reply(Status.BAD_LENGTH)
            with m.Case(Opcode.REGIONS_PARAMETERS):
                m.next = "PARAMETERS"
                with m.If(length != size(RegionParameters)):
                    reply(Status.BAD_LENGTH)
            with m.Case(Opcode.REGIONS_STATE):
                m.next = "STATE_STATUS"
                with m.If(length != 0):
                    reply(Status.BAD_LENGTH)
            with m.Case(Opcode.REGIONS_STEP):
                m.d.sync += left.eq(updates // size(RegionUpdate))
                m.next = "STEP"
                with m.If((length < size(RegionStep)) | (updates % size(RegionUpdate) != 0)):
                    reply(Status.BAD_LENGTH)
            with m.Default():
                reply(Status.UNKNOWN_OPCODE)

    def _outside(self, first: Signal, count: Signal) -> Signal:
        words = self._configuration.regions * WORDS_PER_REGION
        return (count == 0) | (first + count > words)

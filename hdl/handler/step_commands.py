"""The requests that have the entries of a unit's table decided."""

from amaranth.hdl import Module, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped
from amaranth.utils import exact_log2

from adagrain.hdl.checks import check_kind
from adagrain.hdl.stream.records import Deserializer, Serializer
from adagrain.models.interface.configuration import Configuration
from adagrain.models.interface.protocol import Status
from adagrain.models.interface.records import size
from adagrain.models.interface.units import Unit

from .answer import Answer
from .call import HandlerSignature

__all__ = ["StepCommands"]

#: Where there is no such record.
_NOTHING = data.StructLayout({})


class StepCommands(wiring.Component):
    """Handler of the requests that decide on a unit's table, for any unit that declares one.

    A step is a record that holds for all its updates, if there is one, and the updates; each
    one's decision is sent before the next one is taken. Settings are a record that holds for all
    steps that follow. It does not write or read entries: :class:`AccessCommands` does.

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
    o_head : ``Out(stream.Signature(unit.step.request.head))``
        What holds for all updates of a step; has no field where there is no such record.
    o : ``Out(stream.Signature(unit.step.request.items))``
        Updates.
    i : ``In(stream.Signature(unit.step.reply.items))``
        Their decisions.
    refusal : ``In(Status)``
        What the unit says to a step before it comes: ``OK`` or a refusal.
    o_settings : ``Out(stream.Signature(unit.settings.request.record))``
        What holds for all steps; has no field where there is no such request.
    settings_refusal : ``In(Status)``
        What the unit says to the record on ``o_settings``, offered or not: ``OK`` or a refusal.

    Raises
    ------
    TypeError, ValueError
        If a parameter is not what it must be, or the unit keeps no table.
    """

    def __init__(self, configuration: Configuration, unit: Unit) -> None:
        check_kind("configuration", configuration, Configuration)
        check_kind("unit", unit, Unit)
        self._unit, self._payload = unit, configuration.payload
        self._head = unit.step.request.head or _NOTHING
        self._settings = _NOTHING if unit.settings is None else unit.settings.request.record
        super().__init__(
            {
                "handler": Out(HandlerSignature()),
                "o_head": Out(stream.Signature(self._head)),
                "o": Out(stream.Signature(unit.step.request.items)),
                "i": In(stream.Signature(unit.step.reply.items)),
                "refusal": In(Status),
                "o_settings": Out(stream.Signature(self._settings)),
                "settings_refusal": In(Status),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        update, head, settings = self.o.p.shape(), self.o_head.p.shape(), self.o_settings.p.shape()
        m.submodules.reader = reader = Deserializer(max(map(size, (update, head, settings))))
        m.submodules.decision = decision = Serializer(self._unit.step.reply.item_size)
        m.submodules.answer = answer = Answer(1)
        connect(m, flipped(self.handler.i), reader.i)
        connect(m, flipped(self.i), decision.i)
        connect(m, decision.o, answer.i[0])
        connect(m, answer.o, flipped(self.handler.o))
        left = Signal(range(self._payload + 1))
        m.d.comb += [
            self.o.payload.eq(reader.record(update)),
            self.o_head.payload.eq(reader.record(head)),
            self.o_settings.payload.eq(reader.record(settings)),
            decision.last.eq(left == 1),
        ]

        with m.FSM():
            with m.State("IDLE"):
                m.d.comb += self.handler.i_call.ready.eq(1)
                with m.If(self.handler.i_call.valid):
                    self._accept(m, left, answer)
            with m.State("SETTINGS"):
                m.d.comb += reader.feed(size(settings), self.o_settings)
                with m.If(self.settings_refusal != Status.OK):
                    m.d.comb += [self.o_settings.valid.eq(0), reader.o.ready.eq(1)]
                with m.If(reader.taken):
                    m.d.comb += answer.give(self.settings_refusal)
                    m.next = "IDLE"
            with m.State("HEAD"):
                m.d.comb += reader.feed(size(head), self.o_head)
                with m.If(reader.taken):
                    self._begin(m, left, answer)
            with m.State("UPDATE"):
                m.d.comb += reader.feed(size(update), self.o)
                with m.If(reader.taken):
                    m.next = "DECISION"
            with m.State("DECISION"):
                with m.If(decision.i.valid & decision.i.ready):
                    m.d.sync += left.eq(left - 1)
                    m.next = "UPDATE"
                    with m.If(left == 1):
                        m.next = "IDLE"
        return m

    def _accept(self, m: Module, left: Signal, answer: Answer) -> None:
        """The status that can be told before the payload, and the number of updates that follow."""
        call, step = self.handler.i_call.p, self._unit.step
        updates = (call.length - step.request.head_size) >> exact_log2(step.request.item_size)
        m.d.sync += left.eq(updates)
        m.next = "SETTINGS"
        with m.If(call.opcode == step.opcode):
            m.next = "HEAD"
            if step.request.head is None:
                self._begin(m, updates, answer)
            with m.If(self.refusal != Status.OK):
                m.d.comb += answer.give(self.refusal)
                m.next = "IDLE"

    def _begin(self, m: Module, updates: Value, answer: Answer) -> None:
        """Go on with the updates, if there are any."""
        m.d.comb += answer.give(Status.OK, body=updates != 0)
        m.next = "IDLE"
        with m.If(updates != 0):
            m.next = "UPDATE"

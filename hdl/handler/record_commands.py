"""The request for a record that is always there."""

from amaranth.hdl import Module
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from adagrain.hdl.checks import check_kind
from adagrain.hdl.stream.records import Serializer
from adagrain.models.interface.protocol import Status
from adagrain.models.interface.records import size

from .answer import Answer
from .call import HandlerSignature

__all__ = ["RecordCommands"]


class RecordCommands(wiring.Component):
    """Handler that answers each request with a record, as it is while its bytes are sent.

    Parameters
    ----------
    layout : StructLayout
        The record's.

    Members
    -------
    handler : ``Out(HandlerSignature())``
        Requests and replies.
    record : ``In(layout)``
        The record; does not change while a request is executed.

    Raises
    ------
    TypeError, ValueError
        If a parameter is not what it must be.
    """

    def __init__(self, layout: data.StructLayout) -> None:
        check_kind("layout", layout, data.StructLayout)
        self._layout = layout
        super().__init__({"handler": Out(HandlerSignature()), "record": In(layout)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.record = record = Serializer(size(self._layout))
        m.submodules.answer = answer = Answer(1)
        connect(m, record.o, answer.i[0])
        connect(m, answer.o, flipped(self.handler.o))
        call = self.handler.i_call
        m.d.comb += [record.i.payload.eq(self.record), record.i.valid.eq(1), call.ready.eq(1)]
        with m.If(call.valid):
            m.d.comb += answer.give(Status.OK, body=1)
        return m

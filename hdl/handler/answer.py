"""The answer of a handler: a status, and what belongs to it."""

from collections.abc import Sequence
from typing import Any

from amaranth.hdl import Module, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from adagrain.hdl.checks import check_integer
from adagrain.hdl.stream.packet import Packet
from adagrain.hdl.stream.pipeline import elastic
from adagrain.models.interface.protocol import Status

__all__ = ["Answer"]


class Answer(wiring.Component):
    """Sends a status, and then a packet of one of several sources, or none.

    The status leaves two cycles after it was given; packets pass through a register, a byte per
    cycle. A status is taken when nothing is left of the answer before, but for its last byte. A
    handler, whose next request does not come sooner, finds it ready.

    Parameters
    ----------
    sources : int
        How many there are.

    Members
    -------
    i_status : ``In(stream.Signature({"status": Status, "body": range(sources + 1)}))``
        Status; ``body`` is 0 where it is the whole answer, else the source that goes on, from 1.
    i : ``In(stream.Signature(Packet)).array(sources)``
        The sources; each waits until it is named.
    o : ``Out(stream.Signature(Packet))``
        The answer.

    Raises
    ------
    TypeError, ValueError
        If a parameter is not what it must be.
    """

    def __init__(self, sources: int) -> None:
        check_integer("sources", sources, 0)
        status = data.StructLayout({"status": Status, "body": range(sources + 1)})
        super().__init__(
            {
                "i_status": In(stream.Signature(status)),
                "i": In(stream.Signature(Packet)).array(sources),
                "o": Out(stream.Signature(Packet)),
            }
        )

    def give(self, status: Status | Value, body: Value | int = 0) -> Sequence[Any]:
        """Statements for the cycle in which a handler has made up its mind."""
        given = self.i_status
        return given.p.status.eq(status), given.p.body.eq(body), given.valid.eq(1)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        given = Signal.like(self.i_status.payload)
        o = stream.Signature(Packet).create(path=("next",))
        with m.If(elastic(m, o, self.o, 1)):
            m.d.sync += self.o.payload.eq(o.payload)
        with m.FSM():
            with m.State("IDLE"):
                m.d.comb += self.i_status.ready.eq(1)
                m.d.sync += given.eq(self.i_status.payload)
                with m.If(self.i_status.valid):
                    m.next = "STATUS"
            with m.State("STATUS"):
                m.d.comb += [
                    o.p.data.eq(given.status),
                    o.p.last.eq(given.body == 0),
                    o.valid.eq(1),
                ]
                with m.If(o.ready):
                    m.next = "IDLE"
                    with m.If(given.body != 0):
                        m.next = "BODY"
            with m.State("BODY"):
                with m.Switch(given.body):
                    for number, source in enumerate(self.i, 1):
                        with m.Case(number):
                            m.d.comb += [
                                o.payload.eq(source.payload),
                                o.valid.eq(source.valid),
                                source.ready.eq(o.ready),
                            ]
                with m.If(o.valid & o.ready & o.p.last):
                    m.next = "IDLE"
        return m

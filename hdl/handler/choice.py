"""Several handlers behind one port: each has operations of its own."""

from collections.abc import Iterable, Sequence

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from adagrain.hdl.checks import check_integer, check_kind

from .call import HandlerSignature

__all__ = ["Choice"]


class Choice(wiring.Component):
    """Gives each request to the handler that has its operation.

    Adds no cycle. Each opcode that comes must be somebody's.

    Parameters
    ----------
    opcodes : sequence of iterables of int
        Those of each handler.

    Members
    -------
    handler : ``Out(HandlerSignature())``
        Requests and replies.
    inner : ``Out(HandlerSignature().flip()).array(len(opcodes))``
        The handlers.
    hold : ``In(1)``
        Requests wait, whosever they are.

    Raises
    ------
    TypeError, ValueError
        If there is no handler, an opcode is no byte, or two have the same.
    """

    def __init__(self, opcodes: Sequence[Iterable[int]]) -> None:
        check_kind("opcodes", opcodes, Sequence)
        for own in opcodes:
            check_kind("opcodes", own, Iterable)
        self._opcodes = [tuple(own) for own in opcodes]
        every = self.opcodes
        for opcode in every:
            check_integer("opcodes", opcode, 0, 255)
        if not every:
            raise ValueError("opcodes must be those of at least one handler, not none")
        if twice := [opcode for opcode in every if every.count(opcode) > 1]:
            raise ValueError(f"opcodes must be of one handler each, not {int(twice[0])}")
        inner = HandlerSignature().flip()
        super().__init__(
            {
                "handler": Out(HandlerSignature()),
                "inner": Out(inner).array(len(self._opcodes)),
                "hold": In(1),
            }
        )

    @property
    def opcodes(self) -> tuple[int, ...]:
        """Those of its operations."""
        return tuple(opcode for own in self._opcodes for opcode in own)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        outer, chosen = self.handler, Signal(range(len(self._opcodes)))
        for number, (opcodes, inner) in enumerate(zip(self._opcodes, self.inner, strict=True)):
            m.d.comb += [
                inner.i_call.payload.eq(outer.i_call.payload),
                inner.i.payload.eq(outer.i.payload),
                inner.hello.eq(outer.hello),
            ]
            with m.If(outer.i_call.payload.opcode.matches(*opcodes)):
                m.d.comb += [
                    inner.i_call.valid.eq(outer.i_call.valid & ~self.hold),
                    outer.i_call.ready.eq(inner.i_call.ready & ~self.hold),
                ]
                with m.If(inner.i_call.valid & inner.i_call.ready):
                    m.d.sync += chosen.eq(number)
            with m.If(chosen == number):
                m.d.comb += [
                    inner.i.valid.eq(outer.i.valid),
                    outer.i.ready.eq(inner.i.ready),
                    outer.o.payload.eq(inner.o.payload),
                    outer.o.valid.eq(inner.o.valid),
                    inner.o.ready.eq(outer.o.ready),
                    outer.progress.eq(inner.progress),
                ]
        return m

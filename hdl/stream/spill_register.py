"""A register for a stream, and a second one for when it has to stop."""

from typing import Any

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

__all__ = ["SpillRegister"]


class SpillRegister(wiring.Component):
    """Cuts all combinational paths of a stream, without a memory.

    An element per cycle, latency 1. ``i.ready``, ``o.valid`` and ``o.payload`` come from registers;
    the one that is behind ``o`` follows ``o.ready`` in the same cycle. Named after
    ``spill_register`` of PULP's ``common_cells``, whose output is a multiplexer; here the
    multiplexer stands in front of the register.

    Parameters
    ----------
    shape : ShapeLike
        Shape of the payload.

    Members
    -------
    i : ``In(stream.Signature(shape))``
        Elements in; ``ready`` while none is spilled.
    o : ``Out(stream.Signature(shape))``
        The same elements in the same order.
    """

    def __init__(self, shape: Any) -> None:
        self._shape = shape
        super().__init__({"i": In(stream.Signature(shape)), "o": Out(stream.Signature(shape))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        held, spilled = Signal(self._shape, reset_less=True), Signal(self._shape, reset_less=True)
        valid, full, moves = Signal(), Signal(), Signal()
        m.d.comb += [
            moves.eq(~valid | self.o.ready),
            self.i.ready.eq(~full),
            self.o.valid.eq(valid),
            self.o.payload.eq(held),
        ]
        m.d.sync += full.eq((full | self.i.valid) & ~moves)
        with m.If(moves):
            m.d.sync += [
                valid.eq(full | self.i.valid),
                held.eq(Mux(full, spilled, self.i.payload)),
            ]
        with m.If(~full):
            m.d.sync += spilled.eq(self.i.payload)
        return m

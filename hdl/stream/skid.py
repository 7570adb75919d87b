"""A place for the element that is under way when a stream has to stop."""

from typing import Any

from amaranth.hdl import Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

__all__ = ["Skid"]


class Skid(wiring.Component):
    """Cuts the combinational path from a stream's consumer back to its producer.

    An element that is not taken at once is kept until it is. An element per cycle, latency 0;
    ``i.ready`` comes from a register. The path forward, from ``i`` to ``o``, is not cut:
    :class:`~adagrain.hdl.stream.queue.Queue` cuts both.

    Parameters
    ----------
    shape : ShapeLike
        Shape of the payload.

    Members
    -------
    i : ``In(stream.Signature(shape))``
        Elements in; ``ready`` while none is kept.
    o : ``Out(stream.Signature(shape))``
        The same elements in the same order.
    """

    def __init__(self, shape: Any) -> None:
        self._shape = shape
        super().__init__({"i": In(stream.Signature(shape)), "o": Out(stream.Signature(shape))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        kept, full = Signal(self._shape, reset_less=True), Signal()
        m.d.comb += [
            self.i.ready.eq(~full),
            self.o.valid.eq(self.i.valid | full),
            self.o.payload.eq(self.i.payload),
        ]
        m.d.sync += full.eq(self.o.valid & ~self.o.ready)
        with m.If(full):
            m.d.comb += self.o.payload.eq(kept)
        with m.Else():
            m.d.sync += kept.eq(self.i.payload)
        return m

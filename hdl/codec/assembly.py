"""Codes and what stands behind them, joined."""

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from adagrain.hdl.stream.pipeline import elastic
from adagrain.models.interface.codec import LONGEST_CODE

from .encoder_layouts import CHUNK_BITS, Chunk, CodeAndTail

__all__ = ["Assembly"]


class Assembly(wiring.Component):
    """Joins an element's code with the bits behind it, left-aligned.

    An element per cycle, latency one cycle.

    Members
    -------
    i : ``In(stream.Signature(CodeAndTail))``
        Elements and marks.
    o : ``Out(stream.Signature(Chunk))``
        Their bits; of marks none.
    """

    def __init__(self) -> None:
        super().__init__(
            {
                "i": In(stream.Signature(CodeAndTail)),
                "o": Out(stream.Signature(Chunk)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        element = self.i.p
        joined = Signal(CHUNK_BITS)
        m.d.comb += joined.eq(
            Cat(element.tail.bits, element.code.code) << (LONGEST_CODE - element.code.length)[:4]
        )
        with m.If(elastic(m, self.i, self.o, 1)):
            m.d.sync += [
                self.o.p.bits.eq(joined),
                self.o.p.length.eq(element.code.length + element.tail.length),
                self.o.p.last.eq(element.last),
                self.o.p.mark.eq(element.mark),
            ]
            with m.If(element.last):
                m.d.sync += [self.o.p.bits.eq(0), self.o.p.length.eq(0)]
        return m

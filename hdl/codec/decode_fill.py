"""Codes of symbols into a decode table."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from adagrain.models.interface.codec import LONGEST_CODE

from .decoder_layouts import DecodeWrite
from .encoder_layouts import CodeWrite

__all__ = ["DecodeFill"]


class DecodeFill(wiring.Component):
    """Writes a symbol wherever the next 12 bits begin with its code.

    An entry per cycle: 4096 for a table, whose codes fill the code space and come in their order.
    Symbols without a code are taken, and nothing is written.

    Members
    -------
    i : ``In(stream.Signature(CodeWrite))``
        Codes of a table, the shortest first.
    o : ``Out(stream.Signature(DecodeWrite))``
        Entries of its decode table, in order.
    """

    def __init__(self) -> None:
        super().__init__(
            {
                "i": In(stream.Signature(CodeWrite)),
                "o": Out(stream.Signature(DecodeWrite)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        given, ahead = self.i.p, Signal(LONGEST_CODE)
        has_code, rest = given.code.length != 0, Signal(LONGEST_CODE)
        m.d.comb += [
            rest.eq(((1 << LONGEST_CODE) - 1) >> given.code.length),  # bits behind the code
            self.o.p.slot.eq(given.slot),
            self.o.p.ahead.eq(ahead),
            self.o.p.length.eq(given.code.length),
            self.o.p.symbol.eq(given.symbol),
            self.o.valid.eq(self.i.valid & has_code),
            self.i.ready.eq(Mux(has_code, self.o.ready & ((ahead & rest) == rest), 1)),
        ]
        with m.If(self.o.valid & self.o.ready):
            m.d.sync += ahead.eq(ahead + 1)
        return m

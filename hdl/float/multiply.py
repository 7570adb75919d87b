"""Multiplies floating-point numbers."""

from amaranth.hdl import EnableInserter, Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from adagrain.models.formats import ElementFormat

from .parts import operands_layout, result_layout, take_apart
from .pipeline import stallable
from .round import Round, exact_layout

__all__ = ["Multiplier"]


class Multiplier(wiring.Component):
    """Products of two numbers, as :func:`adagrain.models.float.multiply` has them.

    One product per cycle, latency :attr:`LATENCY` cycles; all stages wait together for ``o``.

    Parameters
    ----------
    row : ElementFormat
        Format of operands and products.

    Members
    -------
    i : ``In(stream.Signature(operands_layout(row)))``
        Factors.
    o : ``Out(stream.Signature(result_layout(row)))``
        Products and their flags.
    """

    LATENCY = 2 + Round.LATENCY

    def __init__(self, row: ElementFormat) -> None:
        self._row = row
        super().__init__(
            {
                "i": In(stream.Signature(operands_layout(row))),
                "o": Out(stream.Signature(result_layout(row))),
            }
        )

    @property
    def row(self) -> ElementFormat:
        """Format of operands and products."""
        return self._row

    def elaborate(self, platform: object) -> Module:
        m = Module()
        row = self._row
        precision, exponent_bits = row.mantissa_bits + 1, row.exponent_bits + 2
        moves = stallable(m, self.i, self.o, self.LATENCY)
        rounding = Round(row, 2 * precision, exponent_bits, small=True)
        m.submodules.round = EnableInserter(moves)(rounding)

        a, b = (take_apart(m, word, row) for word in (self.i.p.a, self.i.p.b))
        x, y = Signal.like(a), Signal.like(b)
        product = Signal(exact_layout(2 * precision, exponent_bits))
        undefined = (x.infinite & y.zero) | (x.zero & y.infinite)
        with m.If(moves):
            m.d.sync += [
                x.eq(a),
                y.eq(b),
                product.sign.eq(x.sign ^ y.sign),
                product.significand.eq(x.significand * y.significand),
                product.exponent.eq(x.exponent + y.exponent - (row.bias - 1)),
                product.infinite.eq(x.infinite | y.infinite),
                product.nan.eq(x.nan | y.nan | undefined),
                product.invalid.eq(x.signalling | y.signalling | undefined),
            ]
        m.d.comb += [rounding.i.eq(product), self.o.payload.eq(rounding.o)]
        return m

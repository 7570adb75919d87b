"""Multiplies floating-point numbers."""

from amaranth.hdl import EnableInserter, Module, Signal

from .arithmetic import Arithmetic
from .parts import take_apart
from .pipeline import stallable
from .round import Round, exact_layout

__all__ = ["Multiplier"]


class Multiplier(Arithmetic):
    """Products of two numbers, as :func:`adagrain.models.float.multiply` has them.

    Latency :attr:`LATENCY` cycles.
    """

    LATENCY = 2 + Round.LATENCY

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

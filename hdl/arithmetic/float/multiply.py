"""Multiplies floating-point numbers."""

from amaranth.hdl import EnableInserter, Module, Signal

from adagrain.hdl.stream.pipeline import stallable

from .arithmetic import Arithmetic
from .parts import take_apart
from .product import product_parts
from .round import Round, exact_layout

__all__ = ["Multiplier"]


class Multiplier(Arithmetic):
    """Products of two numbers, as :func:`adagrain.models.arithmetic.float.multiply` has them.

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
        x, y = (Signal.like(parts, reset_less=True) for parts in (a, b))
        product = Signal(exact_layout(2 * precision, exponent_bits), reset_less=True)
        with m.If(moves):
            m.d.sync += [
                x.eq(a),
                y.eq(b),
                product.significand.eq(x.significand * y.significand),
                *product_parts(product, x, y, row),
            ]
        m.d.comb += [rounding.i.eq(product), self.o.payload.eq(rounding.o)]
        return m

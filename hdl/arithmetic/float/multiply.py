"""Multiplies floating-point numbers."""

from amaranth.hdl import EnableInserter, Module, Signal

from adagrain.hdl.stream.pipeline import elastic

from .arithmetic import Arithmetic
from .operand import unpack_operand
from .product import product_class
from .round import Round, unrounded_layout

__all__ = ["Multiplier"]


class Multiplier(Arithmetic):
    """Products of two numbers, as :func:`adagrain.models.arithmetic.float.multiply` has them.

    Latency :attr:`LATENCY` cycles.

    Raises
    ------
    TypeError, ValueError
        If a parameter is not what it must be.
    """

    LATENCY = 2 + Round.LATENCY

    def elaborate(self, platform: object) -> Module:
        m = Module()
        fmt = self._fmt
        precision, exponent_bits = fmt.mantissa_bits + 1, fmt.exponent_bits + 2
        enable = elastic(m, self.i, self.o, self.LATENCY)
        rounding = Round(fmt, 2 * precision, exponent_bits, small=True)
        m.submodules.round = EnableInserter(enable)(rounding)

        a, b = (unpack_operand(m, word, fmt) for word in (self.i.p.a, self.i.p.b))
        x, y = (Signal.like(operand, reset_less=True) for operand in (a, b))
        product = Signal(unrounded_layout(2 * precision, exponent_bits), reset_less=True)
        with m.If(enable):
            m.d.sync += [
                x.eq(a),
                y.eq(b),
                product.significand.eq(x.significand * y.significand),
                *product_class(product, x, y, fmt),
            ]
        m.d.comb += [rounding.i.eq(product), self.o.payload.eq(rounding.o)]
        return m

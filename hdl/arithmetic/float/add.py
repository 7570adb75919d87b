"""Adds floating-point numbers."""

from amaranth.hdl import EnableInserter, Module

from adagrain.hdl.stream.pipeline import elastic

from .arithmetic import Arithmetic
from .operand import unpack_operand
from .round import Round
from .sum import ExactSum

__all__ = ["Adder"]


class Adder(Arithmetic):
    """Sums of two numbers, as :func:`adagrain.models.arithmetic.float.add` has them.

    Latency :attr:`LATENCY` cycles.

    Raises
    ------
    TypeError, ValueError
        If a parameter is not what it must be.
    """

    LATENCY = ExactSum.LATENCY + Round.LATENCY

    def elaborate(self, platform: object) -> Module:
        m = Module()
        fmt, operands = self._fmt, self.i.p
        enable = elastic(m, self.i, self.o, self.LATENCY)
        total = ExactSum(fmt)
        rounding = Round(fmt, len(total.o.significand), len(total.o.exponent), small=False)
        m.submodules.total = EnableInserter(enable)(total)
        m.submodules.round = EnableInserter(enable)(rounding)
        m.d.comb += [
            total.a.eq(unpack_operand(m, operands.a, fmt)),
            total.b.eq(unpack_operand(m, operands.b, fmt)),
            total.swap.eq(operands.a[:-1] < operands.b[:-1]),
            rounding.i.eq(total.o),
            self.o.payload.eq(rounding.o),
        ]
        return m

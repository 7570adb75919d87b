"""Adds floating-point numbers."""

from amaranth.hdl import EnableInserter, Module

from adagrain.hdl.stream.pipeline import stallable

from .arithmetic import Arithmetic
from .parts import take_apart
from .round import Round
from .sum import ExactSum

__all__ = ["Adder"]


class Adder(Arithmetic):
    """Sums of two numbers, as :func:`adagrain.models.arithmetic.float.add` has them.

    Latency :attr:`LATENCY` cycles.
    """

    LATENCY = ExactSum.LATENCY + Round.LATENCY

    def elaborate(self, platform: object) -> Module:
        m = Module()
        row, operands = self._row, self.i.p
        moves = stallable(m, self.i, self.o, self.LATENCY)
        total = ExactSum(row)
        rounding = Round(row, len(total.o.significand), len(total.o.exponent), small=False)
        m.submodules.total = EnableInserter(moves)(total)
        m.submodules.round = EnableInserter(moves)(rounding)
        m.d.comb += [
            total.a.eq(take_apart(m, operands.a, row)),
            total.b.eq(take_apart(m, operands.b, row)),
            total.turn.eq(operands.a[:-1] < operands.b[:-1]),
            rounding.i.eq(total.o),
            self.o.payload.eq(rounding.o),
        ]
        return m

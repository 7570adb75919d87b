"""Adds floating-point numbers."""

from amaranth.hdl import Cat, Const, EnableInserter, Module, Mux, Signal, Value, unsigned
from amaranth.lib import data

from .arithmetic import Arithmetic
from .parts import parts_layout, take_apart
from .pipeline import stallable
from .round import Round, exact_layout

__all__ = ["Adder"]

#: Places below the last one that tell how to round: guard, round and sticky.
_GUARDS = 3


class Adder(Arithmetic):
    """Sums of two numbers, as :func:`adagrain.models.float.add` has them.

    Latency :attr:`LATENCY` cycles.
    """

    LATENCY = 3 + Round.LATENCY

    def elaborate(self, platform: object) -> Module:
        m = Module()
        row = self._row
        precision, exponent_bits = row.mantissa_bits + 1, row.exponent_bits + 2
        width = precision + _GUARDS + 1
        moves = stallable(m, self.i, self.o, self.LATENCY)
        rounding = Round(row, width, exponent_bits, small=False)
        m.submodules.round = EnableInserter(moves)(rounding)

        # Stage 1: the one of the larger magnitude first.
        a, b = (take_apart(m, word, row) for word in (self.i.p.a, self.i.p.b))
        turn = self.i.p.a[:-1] < self.i.p.b[:-1]
        large, small = Signal(parts_layout(row)), Signal(parts_layout(row))
        distance = Signal(row.exponent_bits)

        # Stage 2: the smaller one under the larger one.
        larger = Signal(parts_layout(row))
        aligned = Signal(precision + _GUARDS)
        differ = Signal()
        special = Signal(
            data.StructLayout({"infinite": unsigned(1), "nan": unsigned(1), "invalid": unsigned(1)})
        )
        opposed = large.infinite & small.infinite & (large.sign != small.sign)

        # Stage 3: their sum; of two equal ones with other signs it is +0.
        total = Signal(exact_layout(width, exponent_bits))
        augend = Cat(Const(0, _GUARDS), larger.significand)
        magnitude = Mux(differ, augend - aligned, augend + aligned)[:width]

        with m.If(moves):
            m.d.sync += [
                large.eq(Mux(turn, b, a)),
                small.eq(Mux(turn, a, b)),
                distance.eq(Mux(turn, b.exponent - a.exponent, a.exponent - b.exponent)),
                larger.eq(large),
                aligned.eq(_aligned(small.significand, distance)),
                differ.eq(large.sign != small.sign),
                special.infinite.eq(large.infinite | small.infinite),
                special.nan.eq(large.nan | small.nan | opposed),
                special.invalid.eq(large.signalling | small.signalling | opposed),
                total.significand.eq(magnitude),
                total.sign.eq(larger.sign & ~(differ & ~special.infinite & (magnitude == 0))),
                total.exponent.eq(larger.exponent + 1),
                total.infinite.eq(special.infinite),
                total.nan.eq(special.nan),
                total.invalid.eq(special.invalid),
            ]
        m.d.comb += [rounding.i.eq(total), self.o.payload.eq(rounding.o)]
        return m


def _aligned(significand: Value, distance: Value) -> Value:
    """The significand so many places to the right; what falls out leaves a trace at the end."""
    width = len(significand) + _GUARDS
    wide = Cat(Const(0, width + _GUARDS), significand) >> Mux(distance > width, width, distance)
    return Cat(wide[width] | wide[:width].any(), wide[width + 1 :])

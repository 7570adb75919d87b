"""Exact sums of floating-point numbers."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from adagrain.models.interface.formats import ElementFormat

from .operand import check_format, unpacked_layout
from .round import unrounded_layout

__all__ = ["ExactSum"]

#: Places below the last one that tell how to round: guard, round and sticky.
_GUARDS = 3

#: What passes by the adder.
_SPECIAL = data.StructLayout(dict.fromkeys(("infinite", "nan", "invalid"), 1))


class ExactSum(wiring.Component):
    """Sum of two numbers before rounding.

    One sum per cycle, latency :attr:`LATENCY` cycles, no back-pressure, no reset.

    Parameters
    ----------
    fmt : ElementFormat
        Format of the numbers.

    Members
    -------
    a, b : ``In(unpacked_layout(fmt))``
        The numbers.
    swap : ``In(1)``
        ``b`` is of the larger magnitude.
    o : ``Out(unrounded_layout(fmt.mantissa_bits + 5, fmt.exponent_bits + 2))``
        Their sum.

    Raises
    ------
    TypeError, ValueError
        If a parameter is not what it must be.
    """

    LATENCY = 3

    def __init__(self, fmt: ElementFormat) -> None:
        check_format("fmt", fmt)
        self._fmt = fmt
        operand = unpacked_layout(fmt)
        exact = unrounded_layout(fmt.mantissa_bits + 2 + _GUARDS, fmt.exponent_bits + 2)
        super().__init__({"a": In(operand), "b": In(operand), "swap": In(1), "o": Out(exact)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        fmt, swap = self._fmt, self.swap
        precision = fmt.mantissa_bits + 1
        width = precision + _GUARDS + 1

        # Stage 1: the one of the larger magnitude first.
        large, small = (Signal(unpacked_layout(fmt), reset_less=True) for _ in range(2))
        distance = Signal(fmt.exponent_bits, reset_less=True)
        a, b = self.a, self.b
        m.d.sync += [
            large.eq(Mux(swap, b, a)),
            small.eq(Mux(swap, a, b)),
            distance.eq(Mux(swap, b.exponent - a.exponent, a.exponent - b.exponent)),
        ]

        # Stage 2: the smaller one under the larger one.
        larger = Signal(unpacked_layout(fmt), reset_less=True)
        aligned = Signal(precision + _GUARDS, reset_less=True)
        differ = Signal(reset_less=True)
        special = Signal(_SPECIAL, reset_less=True)
        opposed = large.infinite & small.infinite & (large.sign != small.sign)
        m.d.sync += [
            larger.eq(large),
            aligned.eq(_aligned(small.significand, distance)),
            differ.eq(large.sign != small.sign),
            special.infinite.eq(large.infinite | small.infinite),
            special.nan.eq(large.nan | small.nan | opposed),
            special.invalid.eq(large.signalling | small.signalling | opposed),
        ]

        # Stage 3: their sum; of two equal ones with other signs it is +0.
        augend = Cat(Const(0, _GUARDS), larger.significand)
        magnitude = Mux(differ, augend - aligned, augend + aligned)[:width]
        o = Signal.like(self.o, reset_less=True)
        m.d.comb += self.o.eq(o)
        m.d.sync += [
            o.significand.eq(magnitude),
            o.sign.eq(larger.sign & ~(differ & ~special.infinite & (magnitude == 0))),
            o.exponent.eq(larger.exponent + 1),
            o.infinite.eq(special.infinite),
            o.nan.eq(special.nan),
            o.invalid.eq(special.invalid),
        ]
        return m


def _aligned(significand: Value, distance: Value) -> Value:
    """The significand so many places to the right; what falls out leaves a trace at the end."""
    width = len(significand) + _GUARDS
    wide = Cat(Const(0, width + _GUARDS), significand) >> Mux(distance > width, width, distance)
    return Cat(wide[width] | wide[:width].any(), wide[width + 1 :])

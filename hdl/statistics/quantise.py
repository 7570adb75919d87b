"""One element to its share of the shared exponent, in three stages."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal, signed, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from adagrain.models.interface.units.statistics import LARGEST_Q

__all__ = ["Quantise", "Quantised"]

#: What becomes of an element; all 0 where there is none.
Quantised = data.StructLayout(
    {
        "q": signed(16),
        "clamped": unsigned(1),
        "nan": unsigned(1),
        "positive_infinity": unsigned(1),
        "negative_infinity": unsigned(1),
        "zero": unsigned(1),
        "finite": unsigned(1),
        "present": unsigned(1),
    }
)

#: A significand at the shared exponent has 23 fraction bits, q has 14.
_EXCESS = 9


class Quantise(wiring.Component):
    """``q = clamp(RNE(x·2^(14−E)), ±32767)`` for one lane, and the element's class.

    One element per cycle, latency :attr:`LATENCY` cycles, no back-pressure. NaN and infinities
    give q = 0.

    Members
    -------
    word : ``In(32)``
        FP32 element.
    present : ``In(1)``
        There is an element in this cycle.
    exponent : ``In(8)``
        E, biased by 127; stable during a pass.
    o : ``Out(Quantised)``
        Result.
    """

    LATENCY = 3

    def __init__(self) -> None:
        super().__init__({"word": In(32), "present": In(1), "exponent": In(8), "o": Out(Quantised)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        mantissa, field, sign = self.word[:23], self.word[23:31], self.word[31]
        special = field == 255

        # Stage 1: take apart; how far to shift.
        flags = Signal(Quantised)
        negative = Signal()
        significand = Signal(24)
        shift = Signal(signed(10))
        m.d.sync += [
            flags.eq(0),
            flags.present.eq(self.present),
            flags.nan.eq(self.present & special & (mantissa != 0)),
            flags.positive_infinity.eq(self.present & special & (mantissa == 0) & ~sign),
            flags.negative_infinity.eq(self.present & special & (mantissa == 0) & sign),
            flags.zero.eq(self.present & (self.word[:31] == 0)),
            flags.finite.eq(self.present & ~special),
            negative.eq(sign),
            significand.eq(Mux(self.present & ~special, Cat(mantissa, field != 0), 0)),
            shift.eq(self.exponent - Mux(field == 0, 1, field)),
        ]

        # Stage 2: shift; every bit that falls out leaves a trace in `lost`.
        flags_2 = Signal(Quantised)
        negative_2 = Signal()
        too_large = Signal()
        shifted = Signal(24)
        lost = Signal()
        amount = shift[:4]
        wide = Signal(24 + 15)
        m.d.comb += wide.eq(Cat(Const(0, 15), significand) >> amount)
        m.d.sync += [
            flags_2.eq(flags),
            negative_2.eq(negative),
            too_large.eq((shift < 0) & (significand != 0)),
            shifted.eq(wide[15:]),
            lost.eq(wide[:15].any()),
        ]
        with m.If(shift >= 16):  # below ½, however large the significand
            m.d.sync += [shifted.eq(0), lost.eq(0)]

        # Stage 3: round to nearest even, clamp, give the sign back.
        kept, guard = shifted[_EXCESS:], shifted[_EXCESS - 1]
        sticky = lost | shifted[: _EXCESS - 1].any()
        rounded = Signal(16)
        clamped = Signal()
        magnitude = Signal(15)
        m.d.comb += [
            rounded.eq(kept + (guard & (sticky | kept[0]))),
            clamped.eq(too_large | rounded[15]),
            magnitude.eq(Mux(clamped, LARGEST_Q, rounded[:15])),
        ]
        m.d.sync += [
            self.o.eq(flags_2),
            self.o.q.eq(Mux(negative_2, -magnitude, magnitude)),
            self.o.clamped.eq(clamped),
        ]
        return m

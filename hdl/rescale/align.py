"""Brings the last place of a result to the same bit, whatever its precision."""

from amaranth.hdl import Array, Cat, Const, Module, Mux, Signal, Value, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from adagrain.hdl.arithmetic.leading_zeros import leading_zeros
from adagrain.hdl.stream.delay import delayed
from adagrain.models.interface.precision import LEVELS, WORD_BITS, Precision

__all__ = ["PLACE", "REST", "Align"]

#: Bits below the last place of a result: guard, next one, and what tells that there is more.
REST = 8

#: Shape of places: no sum, however it is scaled, leaves its range.
PLACE = signed(10)

#: Place of the highest bit of a normal number's significand, or of the largest integer.
_TOP = {
    p: REST + (LEVELS[p].bit_length() - 1 if p.integer else p.fmt.mantissa_bits) for p in Precision
}


class Align(wiring.Component):
    """Shifts magnitudes so that the last place of the result is at bit :data:`REST`.

    One per cycle, latency :attr:`LATENCY` cycles, no back-pressure. A shift to either side is a
    rotation, of which the bits that came round are taken off: for all precisions there is one
    rotator.

    Members
    -------
    magnitude : ``In(32)``
        What is shifted.
    place : ``In(PLACE)``
        Where its last bit goes in an integer, or a subnormal number.
    to : ``In(2)``
        Precision of the result.
    kept : ``Out(24)``
        Bits of the result, before rounding.
    rest : ``Out(8)``
        Those below; the lowest one also stands for all that was lost.
    raised : ``Out(unsigned(9))``
        By how much the highest bit lies above the lowest normal number's; for integers, above the
        highest bit that they may have.
    """

    LATENCY = 4

    def __init__(self) -> None:
        super().__init__(
            {
                "magnitude": In(WORD_BITS),
                "place": In(PLACE),
                "to": In(2),
                "kept": Out(WORD_BITS - REST),
                "rest": Out(REST),
                "raised": Out(PLACE.width - 1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        # Stage 1: zeros above the highest bit.
        zeros, nothing, place = Signal(range(WORD_BITS)), Signal(), Signal(PLACE)
        m.d.sync += [
            zeros.eq(leading_zeros(self.magnitude)),
            nothing.eq(self.magnitude == 0),
            place.eq(self.place),
        ]

        # Stage 2: where the last bit goes, and how often it is rotated to the left.
        normal, above, goes = Signal(signed(6)), Signal(PLACE), Signal(PLACE)
        tops = Array(Const(_TOP[p] - WORD_BITS + 1, signed(6)) for p in Precision)
        places, raised = Signal(range(WORD_BITS)), Signal.like(self.raised)
        right, gone = Signal(), Signal()  # bits are lost, and all of them
        m.d.comb += [
            normal.eq(zeros + tops[delayed(m, self.to, 1)]),
            above.eq(place - normal),
            goes.eq(Mux(above < 0, place, normal)),
        ]
        m.d.sync += [
            places.eq(goes),
            right.eq(goes < 0),
            gone.eq(goes <= -WORD_BITS),
            raised.eq(Mux((above < 0) | nothing, 0, above)),
        ]

        # Stage 3: rotate.
        rotated = Signal(WORD_BITS)
        m.d.sync += rotated.eq(_rotated(delayed(m, self.magnitude, 2), places))

        # Stage 4: take off what came round.
        right, gone, places = (delayed(m, value, 1) for value in (right, gone, places))
        stays = Cat(~right | (places > bit) & ~gone for bit in range(WORD_BITS))
        left, lost = rotated & stays, (rotated & ~stays).any()
        m.d.sync += [
            self.kept.eq(left[REST:]),
            self.rest.eq(Cat(left[0] | lost, left[1:REST])),
            self.raised.eq(delayed(m, raised, 1)),
        ]
        return m


def _rotated(value: Value, places: Value) -> Value:
    """A word, rotated to the left."""
    for bit, chosen in enumerate(places):
        value = Mux(chosen, value.rotate_left(1 << bit), value)
    return value

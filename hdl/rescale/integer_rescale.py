"""Sums of integers times powers of two, as smaller integers."""

from amaranth.hdl import Cat, Const, EnableInserter, Module, Mux, Signal, Value, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from adagrain.hdl.arithmetic.float.operand import RESULT_FLAGS
from adagrain.hdl.stream.delay import delayed
from adagrain.hdl.stream.pipeline import elastic
from adagrain.models.interface.precision import INTEGERS, LEVELS, WORD_BITS

from .layouts import number_layout, sum_layout

__all__ = ["IntegerRescale"]

#: Bits of the largest result's magnitude.
_RESULT = max(LEVELS[precision] for precision in INTEGERS).bit_length()

#: Bits of a magnitude above a guard bit, moved to the left as far as any result reaches.
_WIDE = 1 + _RESULT + WORD_BITS

#: Low bits of a shift that the second stage leaves to the third, and what these may still need.
_FINE = 3
_NARROW = 1 + _RESULT + (1 << _FINE) - 1


def _shifted_layout(width: int) -> data.StructLayout:
    """Bits that are left of a magnitude; whether there were more above and below."""
    return data.StructLayout({"bits": width, "above": unsigned(1), "below": unsigned(1)})


class IntegerRescale(wiring.Component):
    """Sums times powers of two, as :class:`Rescale` has them, for INT8 and INT4 alone.

    One number per cycle, latency :attr:`LATENCY` cycles; all stages wait together for ``o``. The
    flags of the sum are kept.

    Members
    -------
    i : ``In(stream.Signature(sum_layout()))``
        Sums; their modes and precisions must be INT8 or INT4: others are not told from them.
    o : ``Out(stream.Signature(number_layout()))``
        Numbers.
    """

    LATENCY = 4
    PRECISIONS = INTEGERS

    def __init__(self) -> None:
        super().__init__(
            {
                "i": In(stream.Signature(sum_layout())),
                "o": Out(stream.Signature(number_layout())),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        enable = elastic(m, self.i, self.o, self.LATENCY)
        stages = Module()
        magnitude, places = self._unpack(stages)
        coarse = Signal(_shifted_layout(_NARROW))
        _shift(stages, magnitude, places[_FINE:] << _FINE, coarse)
        fine = Signal(_shifted_layout(1 + _RESULT))
        _shift(stages, coarse, delayed(stages, places[:_FINE], 1), fine)
        self._finish(stages, fine)
        m.submodules.stages = EnableInserter(enable)(stages)
        return m

    def _unpack(self, m: Module) -> tuple[data.View, Value]:
        """Stage 1: the magnitude, moved to the left, and by how much it goes to the right."""
        word, exponent = self.i.p.word, self.i.p.exponent
        magnitude, places = Signal(WORD_BITS), Signal(range(_WIDE + 1))
        m.d.sync += [
            magnitude.eq(Mux(word[-1], -word, word)),
            places.eq(_RESULT - exponent),
        ]
        with m.If(exponent >= _RESULT):
            m.d.sync += places.eq(0)  # anything else than zero is clamped there
        with m.Elif(exponent <= _RESULT - _WIDE):
            m.d.sync += places.eq(_WIDE)  # even the guard bit is zero there
        wide = Signal(_shifted_layout(_WIDE))
        m.d.comb += wide.bits.eq(Cat(Const(0, 1 + _RESULT), magnitude))
        return wide, places

    def _finish(self, m: Module, fine: data.View) -> None:
        """Stage 4: rounds to nearest even, and clamps."""
        i, o = self.i.p, self.o.p
        to, sign, last, flags = (
            delayed(m, value, self.LATENCY - 1)
            for value in (i.to, i.word[-1], i.last, Value.cast(i.flags))
        )
        guard, kept = fine.bits[0], fine.bits[1:]
        rounded = Signal(_RESULT + 1)
        m.d.comb += rounded.eq(kept + (guard & (fine.below | kept[0])))
        raised = Signal(RESULT_FLAGS)
        with m.Switch(to):
            for precision in INTEGERS:
                top = LEVELS[precision]
                clamped = fine.above | rounded[top.bit_length() :].any()
                number = Mux(clamped, top, rounded[: top.bit_length()])
                with m.Case(precision):
                    m.d.comb += [
                        raised.overflow.eq(clamped),
                        raised.inexact.eq(clamped | guard | fine.below),
                    ]
                    m.d.sync += o.word.eq(Mux(sign, -number, number)[: precision.bits])
        m.d.sync += [o.flags.eq(Value.cast(raised) | flags), o.to.eq(to), o.last.eq(last)]


def _shift(m: Module, given: data.View, places: Value, kept: data.View) -> None:
    """A stage that shifts to the right, and keeps the low bits."""
    bits, lost = given.bits, Const(0, 1)
    for number, bit in enumerate(places):
        lost = lost | bit & bits[: 1 << number].any()
        bits = Mux(bit, bits >> (1 << number), bits)
    m.d.sync += [
        kept.bits.eq(bits),
        kept.above.eq(given.above | bits[len(kept.bits) :].any()),
        kept.below.eq(given.below | lost),
    ]

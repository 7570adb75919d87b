"""Sums of FP16's products without any rounding but the last one."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value, signed, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from adagrain.hdl.arithmetic.float.operand import result_layout
from adagrain.hdl.arithmetic.float.round import Round, unrounded_layout
from adagrain.hdl.slice.products import exact_product
from adagrain.hdl.stream.delay import delayed
from adagrain.models.dot_product import EXACT_BITS, EXACT_PLACES
from adagrain.models.interface.precision import Precision

from .accumulator import AccumulatorMemory, check_entries, later, step_layout

__all__ = ["ExactAccumulator"]

_FMT = Precision.FP16.fmt
_LANES = Precision.FP16.lanes

#: The shift of a product by its exponent: by so many places more, first by less than 16.
_SHIFT = _FMT.bias - 3
_FINE = 4

#: Bits of a shifted product, and of the sum that FP16 can hold; below that are the guard, another
#: bit that tells whether the smallest normal number is tiny before it is rounded, and the rest.
_SHIFTED = 2 * (_FMT.mantissa_bits + 1) + 2 * (1 << _FMT.exponent_bits) - 6
_TOP = EXACT_PLACES + _FMT.bias + 1
_GUARD = EXACT_PLACES - (_FMT.bias - 1 + _FMT.mantissa_bits) - 2

#: What a sum remembers beside its value.
_SEEN = data.StructLayout(dict.fromkeys(("positive", "negative", "nan", "invalid"), unsigned(1)))


class ExactAccumulator(wiring.Component):
    """Adds two exact products to a sum of 96 bits in fixed point, and rounds what comes out.

    One step per cycle, latency :attr:`LATENCY` cycles, no back-pressure. The sum cannot overflow
    within 2**14 products, and does not depend on their order.
    Source: U. Kulisch, Computer Arithmetic and Validity (de Gruyter, 2008), chapter 8.

    Parameters
    ----------
    entries : int
        Number of sums, at least 2.

    Members
    -------
    step : ``In(step_layout(entries))``
        To which sum.
    i : ``In(data.ArrayLayout(exact_product(FP16), 2))``
        Products.
    o : ``Out(result_layout(FP16))``
        The sum with them, rounded, and the flags of that.

    Raises
    ------
    TypeError, ValueError
        If a parameter is not what it must be.
    """

    LATENCY = 6 + Round.LATENCY

    def __init__(self, entries: int) -> None:
        check_entries(entries)
        self._entries = entries
        super().__init__(
            {
                "step": In(step_layout(entries)),
                "i": In(data.ArrayLayout(exact_product(_FMT), _LANES)),
                "o": Out(result_layout(_FMT)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        # Stages 1 and 2: both products in fixed point. Stage 3: their sum.
        pair, negative = self._pair(m, [self._shifted(m, product) for product in self.i])
        seen = Signal(_SEEN)
        m.d.comb += seen.eq(delayed(m, self._seen(m), 3))
        step = later(m, self.step, 3)

        # Stage 4: the sum so far.
        sums = AccumulatorMemory(m, EXACT_BITS, self._entries)
        before = sums.read(step)
        total = Signal(EXACT_BITS)
        m.d.comb += total.eq(Mux(negative, before - pair, before + pair))
        sums.write(step, total)
        history = AccumulatorMemory(m, _SEEN, self._entries)
        ever = Signal(_SEEN)
        m.d.comb += ever.eq(history.read(step) | seen.as_value())
        history.write(step, ever)

        # Stages 5 and 6: its magnitude, and what of it FP16 can hold.
        held, held_ever = Signal(EXACT_BITS, reset_less=True), Signal(_SEEN, reset_less=True)
        m.d.sync += [held.eq(total), held_ever.eq(ever)]
        magnitude = Signal(EXACT_BITS - 1, reset_less=True)
        sign, last_ever = Signal(reset_less=True), Signal(_SEEN, reset_less=True)
        m.d.sync += [
            magnitude.eq(Mux(held[-1], -held, held)),
            sign.eq(held[-1]),
            last_ever.eq(held_ever),
        ]
        self._round(m, magnitude, sign, last_ever)
        return m

    def _shifted(self, m: Module, product: data.View) -> tuple[Value, Value]:
        """A product's magnitude in fixed point, and its sign, two cycles later."""
        special = product.infinite | product.nan
        places = Signal(signed(len(product.exponent)), name="places")
        m.d.comb += places.eq(product.exponent + _SHIFT)
        fine = Signal(len(product.significand) + (1 << _FINE) - 1, name="fine", reset_less=True)
        coarse = Signal(len(places) - 1 - _FINE, name="coarse", reset_less=True)
        shifted = Signal(_SHIFTED, name="shifted", reset_less=True)
        m.d.sync += [
            fine.eq(Mux(special, 0, product.significand) << places[:_FINE]),
            coarse.eq(places[_FINE:-1]),
            shifted.eq(fine << (coarse << _FINE)),
        ]
        return shifted, delayed(m, product.sign, 2)

    def _pair(self, m: Module, products: list[tuple[Value, Value]]) -> tuple[Value, Value]:
        """Sum of two signed magnitudes, and whether its sign has to be flipped."""
        (x, x_sign), (y, y_sign) = products
        pair = Signal(signed(_SHIFTED + 2), reset_less=True)
        m.d.sync += pair.eq(Mux(x_sign ^ y_sign, x - y, x + y))
        return pair, delayed(m, x_sign, 1)

    def _seen(self, m: Module) -> Value:
        seen = Signal(_SEEN, name="new")
        m.d.comb += [
            seen.positive.eq(Cat(p.infinite & ~p.sign for p in self.i).any()),
            seen.negative.eq(Cat(p.infinite & p.sign for p in self.i).any()),
            seen.nan.eq(Cat(p.nan for p in self.i).any()),
            seen.invalid.eq(Cat(p.invalid for p in self.i).any()),
        ]
        return seen.as_value()

    def _round(self, m: Module, magnitude: Value, sign: Value, seen: data.View) -> None:
        kept = Cat(magnitude[:_GUARD].any(), magnitude[_GUARD:_TOP])
        too_large = magnitude[_TOP:].any()
        width, exponent_bits = len(kept), _FMT.exponent_bits + 2
        opposed = seen.positive & seen.negative
        exact = Signal(unrounded_layout(width, exponent_bits), reset_less=True)
        m.d.sync += [
            exact.significand.eq(Mux(too_large, Const(1 << (width - 1), width), kept)),
            exact.exponent.eq(Mux(too_large, 2 * _FMT.bias + 1, 2 * _FMT.bias)),
            exact.sign.eq(Mux(seen.positive | seen.negative, seen.negative, sign)),
            exact.infinite.eq(seen.positive | seen.negative),
            exact.nan.eq(seen.nan | opposed),
            exact.invalid.eq(seen.invalid | opposed),
        ]
        m.submodules.round = rounding = Round(_FMT, width, exponent_bits, small=False)
        m.d.comb += [rounding.i.eq(exact), self.o.eq(rounding.o)]

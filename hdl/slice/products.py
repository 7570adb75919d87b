"""Exact products of two words in any precision, on four shared multipliers."""

from amaranth.hdl import Cat, EnableInserter, Module, Mux, Signal, Value, signed
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from adagrain.hdl.arithmetic.dsp import Products
from adagrain.hdl.arithmetic.float.product import product_class
from adagrain.hdl.arithmetic.float.round import unrounded_layout
from adagrain.hdl.stream.delay import delayed
from adagrain.models.interface.formats import ElementFormat
from adagrain.models.interface.precision import Precision
from adagrain.models.slice import LANE_BITS, LANES

from .operand_mux import FIELD, MULTIPLIERS, WIDTH, factors, numbers

__all__ = ["ExactProducts", "exact_product", "products_layout"]

_FP32, _FP16 = Precision.FP32.fmt, Precision.FP16.fmt
_HALF = (_FP32.mantissa_bits + 1) // 2


def exact_product(fmt: ElementFormat) -> data.StructLayout:
    """Layout of a format's product before rounding."""
    return unrounded_layout(2 * fmt.mantissa_bits + 2, fmt.exponent_bits + 2)


def products_layout() -> data.StructLayout:
    """Products of a cycle; of the three, the one of the mode is meant.

    Members
    -------
    wide : ``exact_product(FP32)``
        FP32's product.
    narrow : ``data.ArrayLayout(exact_product(FP16), 2)``
        FP16's products.
    integers : ``data.ArrayLayout(signed(16), 4)``
        INT8's products, or INT4's sums of two products.
    """
    return data.StructLayout(
        {
            "wide": exact_product(_FP32),
            "narrow": data.ArrayLayout(exact_product(_FP16), Precision.FP16.lanes),
            "integers": data.ArrayLayout(signed(LANE_BITS), LANES),
        }
    )


class ExactProducts(wiring.Component):
    """Products before rounding: one of FP32, two of FP16, four of INT8, or eight of INT4.

    One pair of words per cycle, latency :attr:`LATENCY` cycles, no back-pressure, no reset. The
    mode may change with each pair. FP32's significands of 24 bits are multiplied by halves; two
    products of INT4 come out of one multiplier as their sum.

    Members
    -------
    en : ``In(1)``
        The stages move.
    mode : ``In(2)``
        :class:`Precision`.
    a, b : ``In(32)``
        Words.
    o : ``Out(products_layout())``
        Products.
    """

    LATENCY = Products.LATENCY + 2

    def __init__(self) -> None:
        words = {"mode": In(2), "a": In(32), "b": In(32)}
        super().__init__({"en": In(1), **words, "o": Out(products_layout())})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        wide = [numbers(m, word, Precision.FP32) for word in (self.a, self.b)]
        narrow = [numbers(m, word, Precision.FP16) for word in (self.a, self.b)]
        m.submodules.products = products = Products(WIDTH, MULTIPLIERS)
        m.d.comb += products.en.eq(self.en)
        operands = factors(self.mode, (self.a, self.b), [row[0] for row in wide], narrow)
        for number, (a, b) in enumerate(operands):
            m.d.comb += [products.a[number].eq(a), products.b[number].eq(b)]

        moving = Module()
        o = Signal.like(self.o, reset_less=True)
        m.d.comb += self.o.eq(o)
        self._combine(moving, products.o, o)
        self._describe(moving, o.wide, [row[0] for row in wide], Precision.FP32)
        for lane in range(Precision.FP16.lanes):
            sides = [row[lane] for row in narrow]
            self._describe(moving, o.narrow[lane], sides, Precision.FP16)
        m.submodules.moving = EnableInserter(self.en)(moving)
        return m

    def _combine(self, m: Module, product: data.View, o: data.View) -> None:
        """From the multipliers to significands and integers, in two stages."""
        mode = delayed(m, self.mode, Products.LATENCY)
        part = [Value.cast(product[number]).as_unsigned() for number in range(MULTIPLIERS)]

        middle = Signal(2 * _HALF + 1, reset_less=True)
        outer = Signal(4 * _HALF, reset_less=True)
        total = outer[_HALF:] + middle
        m.d.sync += [
            middle.eq(part[1][: 2 * _HALF] + part[2][: 2 * _HALF]),
            outer.eq(Cat(part[0][: 2 * _HALF], part[3][: 2 * _HALF])),
            o.wide.significand.eq(Cat(outer[:_HALF], total[: 3 * _HALF])),
        ]
        for lane, exact in enumerate(o.narrow):
            bits = len(exact.significand)
            m.d.sync += exact.significand.eq(delayed(m, part[lane][:bits], 1))
        for lane, integer in enumerate(o.integers):
            field = part[lane][FIELD : 2 * FIELD].as_signed()
            pair = Signal(signed(LANE_BITS), name="pair")
            m.d.comb += pair.eq(field + part[lane][FIELD - 1])  # what the field below borrowed
            chosen = Mux(mode == Precision.INT4, pair, part[lane][:LANE_BITS])
            m.d.sync += integer.eq(delayed(m, chosen, 1))

    def _describe(
        self, m: Module, product: data.View, sides: list[data.View], precision: Precision
    ) -> None:
        """All of a product but its significand, as late as that."""
        early = Signal(product.shape(), name="early", reset_less=True)
        m.d.sync += product_class(early, sides[0], sides[1], precision.fmt)
        for name, _ in early.shape():
            if name != "significand":
                late = delayed(m, Value.cast(early[name]), self.LATENCY - 2)
                m.d.sync += Value.cast(product[name]).eq(late)

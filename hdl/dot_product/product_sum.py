"""The sum of a pair of words' products, of integers alone."""

from amaranth.hdl import Cat, EnableInserter, Module, Mux, Signal, Value, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from adagrain.hdl.arithmetic.dsp import Products
from adagrain.models.interface.precision import Precision
from adagrain.models.slice import LANE_BITS, LANES

__all__ = ["ProductSum"]


class ProductSum(wiring.Component):
    """Adds the four products of two words of INT8, or the eight of INT4.

    One pair of words per cycle, latency :attr:`LATENCY` cycles, no back-pressure. The mode may
    change with each pair. Four multipliers of 8 bits have INT8's products, or those of each
    byte's lower number of INT4; the upper ones have multipliers of 4 bits, which are logic on
    an iCE40.

    Members
    -------
    en : ``In(1)``
        The stages move.
    mode : ``In(2)``
        :class:`Precision`, INT8 or INT4.
    a, b : ``In(32)``
        Words.
    o : ``Out(signed(18))``
        Sum of the products.
    """

    LATENCY = Products.LATENCY + 3

    def __init__(self) -> None:
        words = {"mode": In(2), "a": In(32), "b": In(32)}
        super().__init__({"en": In(1), **words, "o": Out(signed(LANE_BITS + 2))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        narrow = self.mode == Precision.INT4
        m.submodules.whole = whole = Products(Precision.INT8.bits, LANES)
        m.submodules.upper = upper = Products(Precision.INT4.bits, LANES)
        for unit in (whole, upper):
            m.d.comb += unit.en.eq(self.en)
        for lane in range(LANES):
            for word, int8s, nibbles in ((self.a, whole.a, upper.a), (self.b, whole.b, upper.b)):
                byte = word.word_select(lane, Precision.INT8.bits)
                low, high = byte[: Precision.INT4.bits], byte[Precision.INT4.bits :]
                sign = low[-1].replicate(len(high))
                m.d.comb += [
                    int8s[lane].eq(Cat(low, Mux(narrow, sign, high)).as_signed()),
                    nibbles[lane].eq(high.as_signed()),
                ]
            with m.If(~narrow):
                m.d.comb += upper.a[lane].eq(0)

        moving = Module()
        total = self._sum(moving, list(whole.o))
        more = self._sum(moving, list(upper.o))
        moving.d.sync += self.o.eq(total + more)
        m.submodules.moving = EnableInserter(self.en)(moving)
        return m

    def _sum(self, m: Module, numbers: list[Value]) -> Value:
        """A sum of four numbers, in two stages."""
        first, second = (self._pair(m, *numbers[n : n + 2]) for n in (0, 2))
        return self._pair(m, first, second)

    def _pair(self, m: Module, a: Value, b: Value) -> Value:
        total = Signal(signed(len(a) + 1), reset_less=True)
        m.d.sync += total.eq(a + b)
        return total

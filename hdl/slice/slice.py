"""An ALU for words of four precisions."""

from amaranth.hdl import Cat, Const, EnableInserter, Module, Signal, Value, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from adagrain.hdl.arithmetic.float.operand import RESULT_FLAGS, unpack_operand
from adagrain.hdl.arithmetic.float.round import Round
from adagrain.hdl.arithmetic.float.sum import ExactSum
from adagrain.hdl.stream.delay import delayed
from adagrain.hdl.stream.pipeline import elastic
from adagrain.models.interface.precision import Operation, Precision
from adagrain.models.slice import LANE_BITS, LANES

from .products import ExactProducts, exact_product

__all__ = ["Slice", "operands_layout", "results_layout"]


def operands_layout() -> data.StructLayout:
    """Operands of a slice.

    Members
    -------
    a, b : ``unsigned(32)``
        Words.
    mode : ``unsigned(2)``
        :class:`Precision` of both.
    operation : ``unsigned(1)``
        :class:`Operation` on floating-point numbers.
    """
    return data.StructLayout(
        {"a": unsigned(32), "b": unsigned(32), "mode": unsigned(2), "operation": unsigned(1)}
    )


def results_layout() -> data.StructLayout:
    """Results of a slice; fields that the mode does not use are 0.

    Members
    -------
    lanes : ``data.ArrayLayout(16, 4)``
        As :class:`adagrain.models.slice.Results` has them.
    flags : ``data.ArrayLayout(RESULT_FLAGS, 2)``
        Flags of the first and the second floating-point number.
    """
    return data.StructLayout(
        {
            "lanes": data.ArrayLayout(LANE_BITS, LANES),
            "flags": data.ArrayLayout(RESULT_FLAGS, Precision.FP16.lanes),
        }
    )


class Slice(wiring.Component):
    """Multiplies words of FP32, FP16, INT8 or INT4, and adds those of FP32 or FP16.

    Results as :func:`adagrain.models.slice.compute` has them: 1, 2, 4 or 8 products of a pair of
    words. One pair per cycle whatever the modes, which may change with each; latency
    :attr:`LATENCY` cycles; all stages wait together for ``o``. It does not accumulate.

    Members
    -------
    i : ``In(stream.Signature(operands_layout()))``
        Words, and what to do with them.
    o : ``Out(stream.Signature(results_layout()))``
        Results.
    """

    LATENCY = ExactProducts.LATENCY + Round.LATENCY

    def __init__(self) -> None:
        super().__init__(
            {
                "i": In(stream.Signature(operands_layout())),
                "o": Out(stream.Signature(results_layout())),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        enable = elastic(m, self.i, self.o, self.LATENCY)
        m.submodules.products = products = ExactProducts()
        m.d.comb += [
            products.en.eq(enable),
            products.mode.eq(self.i.p.mode),
            products.a.eq(self.i.p.a),
            products.b.eq(self.i.p.b),
        ]
        m.submodules.stages = EnableInserter(enable)(self._stages(products.o))
        return m

    def _stages(self, products: data.View) -> Module:
        m = Module()
        adds = delayed(m, self.i.p.operation == Operation.ADD, ExactProducts.LATENCY)
        mode = delayed(m, self.i.p.mode, self.LATENCY)
        integers = delayed(m, products.integers.as_value(), Round.LATENCY)
        wide = self._rounded(m, Precision.FP32, [products.wide], adds)
        narrow = self._rounded(m, Precision.FP16, list(products.narrow), adds)
        with m.Switch(mode):
            for precision, numbers in ((Precision.FP32, wide), (Precision.FP16, narrow)):
                with m.Case(precision):
                    m.d.comb += self.o.p.lanes.eq(Cat(number.word for number in numbers))
                    for lane, number in enumerate(numbers):
                        m.d.comb += self.o.p.flags[lane].eq(number.flags)
            with m.Default():
                m.d.comb += self.o.p.lanes.eq(integers)
        return m

    def _rounded(
        self, m: Module, precision: Precision, products: list[data.View], adds: Value
    ) -> list[data.View]:
        """The products, or the sums, of the numbers of a word."""
        results = []
        for lane, product in enumerate(products):
            rounding = Round(
                precision.fmt, len(product.significand), len(product.exponent), small=True
            )
            m.submodules += rounding
            total = self._sum(m, precision, lane)
            m.d.comb += rounding.i.eq(product)
            with m.If(adds):
                m.d.comb += rounding.i.eq(total)
            results.append(rounding.o)
        return results

    def _sum(self, m: Module, precision: Precision, lane: int) -> data.View:
        """The sum of two numbers, as late as their product, and in the product's layout."""
        a, b = (word.word_select(lane, precision.bits) for word in (self.i.p.a, self.i.p.b))
        fmt, layout = precision.fmt, exact_product(precision.fmt)
        m.submodules += (unit := ExactSum(fmt))
        m.d.comb += [
            unit.a.eq(unpack_operand(m, a, fmt)),
            unit.b.eq(unpack_operand(m, b, fmt)),
            unit.swap.eq(a[:-1] < b[:-1]),
        ]
        late = unit.o.shape()(delayed(m, unit.o.as_value(), ExactProducts.LATENCY - unit.LATENCY))
        total = Signal(layout, name="total")
        room = len(total.significand) - len(late.significand)
        m.d.comb += [total[name].eq(late[name]) for name, _ in layout]
        m.d.comb += total.significand.eq(Cat(Const(0, room), late.significand))
        return total

"""Sums of products in any of four precisions."""

from amaranth.hdl import Cat, EnableInserter, Module, Signal, Value, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from adagrain.hdl.arithmetic.float.operand import RESULT_FLAGS
from adagrain.hdl.arithmetic.float.round import Round
from adagrain.hdl.slice import ExactProducts
from adagrain.hdl.stream.delay import delayed
from adagrain.models.interface.precision import WORD_BITS, Precision

from .accumulator import check_entries, index_shape, later, step_layout
from .exact import ExactAccumulator
from .floats import FloatAccumulator
from .handshake import summing
from .integers import IntegerAccumulator

__all__ = ["DotProduct", "sums_layout", "terms_layout"]


def terms_layout(entries: int) -> data.StructLayout:
    """Terms of a dot product.

    Members
    -------
    a, b : ``unsigned(32)``
        Words.
    mode : ``unsigned(2)``
        :class:`Precision` of both, the same for all terms of a sum.
    index : ``unsigned(...)``
        Number of the sum to which the products are added.
    first, last : ``unsigned(1)``
        The sum begins, or ends, with them.
    """
    words = {"a": unsigned(WORD_BITS), "b": unsigned(WORD_BITS), "mode": unsigned(2)}
    return data.StructLayout(
        {**words, "index": index_shape(entries), "first": unsigned(1), "last": unsigned(1)}
    )


def sums_layout(entries: int) -> data.StructLayout:
    """A sum that has ended.

    Members
    -------
    word : ``unsigned(32)``
        A number of FP32, of FP16 with zeros above, or an integer of 32 bits.
    flags : ``RESULT_FLAGS``
        All that the sum has raised; an integer that has wrapped around raises ``overflow``.
    mode, index : ``unsigned(...)``
        As they came.
    """
    names = {"mode": unsigned(2), "index": index_shape(entries)}
    return data.StructLayout({"word": unsigned(WORD_BITS), "flags": RESULT_FLAGS, **names})


class DotProduct(wiring.Component):
    """Adds products of words to sums, of which several may be under way.

    Sums as :func:`adagrain.models.dot_product.dot` has them. A pair of words per cycle, whatever
    the modes and sums, but for FP32: a pair that goes on with a sum waits until the last one of
    this sum was :attr:`LOOP` cycles before. A sum leaves :attr:`LATENCY` cycles after its last
    pair; all stages wait together for ``o``.

    Parameters
    ----------
    entries : int
        Number of sums, at least 2; from :attr:`LOOP` on FP32 can use all cycles.

    Members
    -------
    i : ``In(stream.Signature(terms_layout(entries)))``
        Terms.
    o : ``Out(stream.Signature(sums_layout(entries)))``
        Sums that have ended.

    Raises
    ------
    TypeError, ValueError
        If a parameter is not what it must be.
    """

    #: Cycles from a pair of words of FP32 to the next one of the same sum.
    LOOP = FloatAccumulator.LATENCY + 1
    LATENCY = ExactProducts.LATENCY + Round.LATENCY + FloatAccumulator.LATENCY
    PRECISIONS = tuple(Precision)

    def __init__(self, entries: int) -> None:
        check_entries(entries)
        self._entries = entries
        super().__init__(
            {
                "i": In(stream.Signature(terms_layout(entries))),
                "o": Out(stream.Signature(sums_layout(entries))),
            }
        )

    @property
    def entries(self) -> int:
        """Number of sums."""
        return self._entries

    def elaborate(self, platform: object) -> Module:
        m = Module()
        busy, last = Signal(), Signal()
        taken, enable = summing(m, self.i, self.o, self.LATENCY, busy=busy, last=last)
        m.submodules.products = products = ExactProducts()
        m.d.comb += [
            products.en.eq(enable),
            products.mode.eq(self.i.p.mode),
            products.a.eq(self.i.p.a),
            products.b.eq(self.i.p.b),
        ]
        stages = Module()
        m.d.comb += [
            last.eq(self._stages(stages, taken, products.o)),
            busy.eq(self._busy(stages, taken)),
        ]
        m.submodules.stages = EnableInserter(enable)(stages)
        return m

    def _busy(self, m: Module, taken: Value) -> Value:
        """The next terms go on with a rounded sum, which may not have got its last ones yet."""
        step = Signal(step_layout(self._entries), name="taken")
        m.d.comb += [step.valid.eq(taken), step.index.eq(self.i.p.index)]
        waits = []
        for _ in range(self.LOOP - 1):
            step = later(m, step, 1)
            waits.append(step.valid & (step.index == self.i.p.index))
        goes_on = (self.i.p.mode == Precision.FP32) & ~self.i.p.first
        return Cat(waits).any() & goes_on

    def _stages(self, m: Module, valid: Value, products: data.View) -> Value:
        """From products to what comes out; whether it is a sum that has ended."""
        mode, step = self._steps(m, valid)
        m.submodules.integers = integers = IntegerAccumulator(self._entries)
        m.submodules.exact = exact = ExactAccumulator(self._entries)
        m.submodules.floats = floats = FloatAccumulator(Precision.FP32.fmt, self._entries)
        m.d.comb += [
            integers.i.eq(products.integers),
            exact.i.eq(products.narrow),
            floats.i.eq(self._rounded(m, products.wide)),
        ]
        for unit, chosen, early in (
            (integers, mode[1], 0),
            (exact, mode == Precision.FP16, 0),
            (floats, mode == Precision.FP32, Round.LATENCY),
        ):
            own = Signal(step_layout(self._entries), name="own")
            m.d.comb += [own.eq(step), own.valid.eq(step.valid & chosen)]
            m.d.comb += unit.step.eq(later(m, own, early))

        late = self.LATENCY - ExactProducts.LATENCY - IntegerAccumulator.LATENCY
        integer = delayed(m, Cat(integers.o, integers.overflow), late)
        out = self.o.p
        m.d.comb += [
            out.mode.eq(delayed(m, self.i.p.mode, self.LATENCY)),
            out.index.eq(delayed(m, self.i.p.index, self.LATENCY)),
        ]
        with m.Switch(out.mode):
            for precision, unit in ((Precision.FP32, floats), (Precision.FP16, exact)):
                with m.Case(precision):
                    m.d.comb += [out.word.eq(unit.o.word), out.flags.eq(unit.o.flags)]
            with m.Default():
                m.d.comb += [
                    out.word.eq(integer[:WORD_BITS]),
                    out.flags.overflow.eq(integer[WORD_BITS]),
                ]
        return delayed(m, self.i.p.last, self.LATENCY)

    def _steps(self, m: Module, valid: Value) -> tuple[Value, data.View]:
        """Mode and step of the products that come out now."""
        step = Signal(step_layout(self._entries))
        m.d.comb += [
            step.valid.eq(valid),
            step.index.eq(self.i.p.index),
            step.first.eq(self.i.p.first),
        ]
        mode = delayed(m, self.i.p.mode, ExactProducts.LATENCY)
        return mode, later(m, step, ExactProducts.LATENCY)

    def _rounded(self, m: Module, product: data.View) -> data.View:
        m.submodules.round = rounding = Round(
            Precision.FP32.fmt, len(product.significand), len(product.exponent), small=True
        )
        m.d.comb += rounding.i.eq(product)
        return rounding.o

"""Sums of floating-point numbers, each of which is rounded."""

from amaranth.hdl import Module, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from adagrain.hdl.arithmetic.float.operand import (
    RESULT_FLAGS,
    check_format,
    result_layout,
    unpack_operand,
)
from adagrain.hdl.arithmetic.float.round import Round
from adagrain.hdl.arithmetic.float.sum import ExactSum
from adagrain.hdl.stream.delay import delayed
from adagrain.models.interface.formats import ElementFormat

from .accumulator import AccumulatorMemory, check_entries, later, step_layout

__all__ = ["FloatAccumulator"]


class FloatAccumulator(wiring.Component):
    """Adds a rounded product to a rounded sum, which begins at +0.

    One step per cycle, latency :attr:`LATENCY` cycles, no back-pressure. Steps of the same sum
    must be more than so many cycles apart.

    Parameters
    ----------
    fmt : ElementFormat
        Format of products and sums.
    entries : int
        Number of sums, at least 2.

    Members
    -------
    step : ``In(step_layout(entries))``
        To which sum.
    i : ``In(result_layout(fmt))``
        Product, and the flags that it has raised.
    o : ``Out(result_layout(fmt))``
        The sum with it, and all flags since it began.

    Raises
    ------
    TypeError, ValueError
        If a parameter is not what it must be.
    """

    LATENCY = ExactSum.LATENCY + Round.LATENCY

    def __init__(self, fmt: ElementFormat, entries: int) -> None:
        check_format("fmt", fmt)
        check_entries(entries)
        self._fmt, self._entries = fmt, entries
        super().__init__(
            {
                "step": In(step_layout(entries)),
                "i": In(result_layout(fmt)),
                "o": Out(result_layout(fmt)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        fmt = self._fmt
        last = later(m, self.step, self.LATENCY)
        sums = AccumulatorMemory(m, fmt.bits, self._entries)
        flags = AccumulatorMemory(m, RESULT_FLAGS, self._entries)
        m.submodules.add = add = ExactSum(fmt)
        rounding = Round(fmt, len(add.o.significand), len(add.o.exponent), small=False)
        m.submodules.round = rounding
        augend, addend = sums.read(self.step), self.i.word
        raised = delayed(m, Value.cast(self.i.flags), self.LATENCY)
        m.d.comb += [
            add.a.eq(unpack_operand(m, augend, fmt)),
            add.b.eq(unpack_operand(m, addend, fmt)),
            add.swap.eq(augend[:-1] < addend[:-1]),
            rounding.i.eq(add.o),
            self.o.word.eq(rounding.o.word),
            self.o.flags.eq(flags.read(last) | raised | Value.cast(rounding.o.flags)),
        ]
        sums.write(last, self.o.word)
        flags.write(last, self.o.flags)
        return m

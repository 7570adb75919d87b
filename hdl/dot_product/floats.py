"""Sums of floating-point numbers, each of which is rounded."""

from amaranth.hdl import Module, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from adagrain.hdl.arithmetic.float.parts import (
    RESULT_FLAGS,
    check_format,
    result_layout,
    take_apart,
)
from adagrain.hdl.arithmetic.float.round import Round
from adagrain.hdl.arithmetic.float.sum import ExactSum
from adagrain.hdl.stream.delay import delayed
from adagrain.models.interface.formats import ElementFormat

from .accumulator import Store, check_entries, later, step_layout

__all__ = ["FloatAccumulator"]


class FloatAccumulator(wiring.Component):
    """Adds a rounded product to a rounded sum, which begins at +0.

    One step per cycle, latency :attr:`LATENCY` cycles, no back-pressure. Steps of the same sum
    must be more than so many cycles apart.

    Parameters
    ----------
    row : ElementFormat
        Format of products and sums.
    entries : int
        Number of sums, at least 2.

    Members
    -------
    step : ``In(step_layout(entries))``
        To which sum.
    i : ``In(result_layout(row))``
        Product, and the flags that it has raised.
    o : ``Out(result_layout(row))``
        The sum with it, and all flags since it began.

    Raises
    ------
    TypeError, ValueError
        If a parameter is not what it must be.
    """

    LATENCY = ExactSum.LATENCY + Round.LATENCY

    def __init__(self, row: ElementFormat, entries: int) -> None:
        check_format("row", row)
        check_entries(entries)
        self._row, self._entries = row, entries
        super().__init__(
            {
                "step": In(step_layout(entries)),
                "i": In(result_layout(row)),
                "o": Out(result_layout(row)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        row = self._row
        last = later(m, self.step, self.LATENCY)
        sums = Store(m, row.bits, self._entries)
        flags = Store(m, RESULT_FLAGS, self._entries)
        m.submodules.add = add = ExactSum(row)
        rounding = Round(row, len(add.o.significand), len(add.o.exponent), small=False)
        m.submodules.round = rounding
        augend, addend = sums.read(self.step), self.i.word
        raised = delayed(m, Value.cast(self.i.flags), self.LATENCY)
        m.d.comb += [
            add.a.eq(take_apart(m, augend, row)),
            add.b.eq(take_apart(m, addend, row)),
            add.turn.eq(augend[:-1] < addend[:-1]),
            rounding.i.eq(add.o),
            self.o.word.eq(rounding.o.word),
            self.o.flags.eq(flags.read(last) | raised | Value.cast(rounding.o.flags)),
        ]
        sums.write(last, self.o.word)
        flags.write(last, self.o.flags)
        return m

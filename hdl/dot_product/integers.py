"""Sums of integers."""

from amaranth.hdl import Cat, Module, Signal, signed
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from adagrain.hdl.stream.delay import delayed
from adagrain.models.dot_product import INTEGER_BITS
from adagrain.models.slice import LANE_BITS, LANES

from .accumulator import AccumulatorMemory, check_entries, later, step_layout

__all__ = ["IntegerAccumulator"]


class IntegerAccumulator(wiring.Component):
    """Adds four integers at once to a sum of 32 bits, which wraps around and tells it.

    One step per cycle, latency :attr:`LATENCY` cycles, no back-pressure.

    Parameters
    ----------
    entries : int
        Number of sums, at least 2.

    Members
    -------
    step : ``In(step_layout(entries))``
        To which sum.
    i : ``In(data.ArrayLayout(signed(16), 4))``
        Integers.
    o : ``Out(32)``
        The sum with them.
    overflow : ``Out(1)``
        It has wrapped around since it began.

    Raises
    ------
    TypeError, ValueError
        If a parameter is not what it must be.
    """

    LATENCY = 2

    def __init__(self, entries: int) -> None:
        check_entries(entries)
        self._entries = entries
        super().__init__(
            {
                "step": In(step_layout(entries)),
                "i": In(data.ArrayLayout(signed(LANE_BITS), LANES)),
                "o": Out(INTEGER_BITS),
                "overflow": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        step = later(m, self.step, 1)
        addend = Signal(signed(LANE_BITS + 2), reset_less=True)
        m.d.sync += addend.eq((self.i[0] + self.i[1]) + (self.i[2] + self.i[3]))

        sums = AccumulatorMemory(m, INTEGER_BITS + 1, self._entries)
        before = sums.read(step)
        total = Signal(INTEGER_BITS)
        value = before[:INTEGER_BITS]
        wraps = (value[-1] == addend[-1]) & (total[-1] != addend[-1])
        overflow = before[INTEGER_BITS] | wraps
        m.d.comb += total.eq(value.as_signed() + addend)
        sums.write(step, Cat(total, overflow))
        m.d.comb += Cat(self.o, self.overflow).eq(delayed(m, Cat(total, overflow), 1))
        return m

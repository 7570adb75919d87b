"""Counters of the updates that were decided, and of the cycles that it took."""

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from adagrain.hdl.checks import check_integer

__all__ = ["Meter"]


class Meter(wiring.Component):
    """Counts decisions, and the cycles of the longest one.

    Parameters
    ----------
    cycles : int
        A decision takes fewer than four times as many, at least 1.

    Members
    -------
    busy : ``In(1)``
        An update is at work, from the cycle on after it was seen.
    decided : ``In(1)``
        It is taken in this cycle.
    decisions : ``Out(32)``
        Updates taken since reset.
    longest : ``Out(32)``
        Most cycles that one of them took, from that in which it was seen to that in which it was
        taken; its decision is offered in the next.

    Raises
    ------
    TypeError, ValueError
        If a parameter is not what it must be.
    """

    def __init__(self, cycles: int) -> None:
        check_integer("cycles", cycles, 1)
        self._cycles = cycles
        super().__init__(
            {"busy": In(1), "decided": In(1), "decisions": Out(32), "longest": Out(32)}
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        elapsed = Signal(range(4 * self._cycles))
        longest = Signal.like(elapsed)
        m.d.comb += self.longest.eq(longest)
        m.d.sync += elapsed.eq(elapsed + 1)
        with m.If(~self.busy):
            m.d.sync += elapsed.eq(1)
        with m.If(self.decided):
            m.d.sync += self.decisions.eq(self.decisions + 1)
            with m.If(elapsed > longest):
                m.d.sync += longest.eq(elapsed)
        return m

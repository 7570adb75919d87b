"""Notices what makes no progress."""

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from adagrain.hdl.checks import check_integer

__all__ = ["Watchdog"]


class Watchdog(wiring.Component):
    """Counts cycles without progress, and says when there were too many.

    It does not know what progress is, nor does it end anything.

    Parameters
    ----------
    cycles : int
        So many are too many.

    Members
    -------
    watches : ``In(1)``
        There is something to be watched; otherwise the count is 0.
    progress : ``In(1)``
        Something moves: the count begins anew.
    excused : ``In(1)``
        What is watched waits for others: this cycle does not count.
    expired : ``Out(1)``
        High from the cycle after the last that counts until there is progress, or nothing to be
        watched; never together with ``progress``.

    Raises
    ------
    TypeError, ValueError
        If ``cycles`` is not positive.
    """

    def __init__(self, cycles: int) -> None:
        check_integer("cycles", cycles, 1)
        self._cycles = cycles
        super().__init__({"watches": In(1), "progress": In(1), "excused": In(1), "expired": Out(1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        bits = ceil_log2(self._cycles)
        first = (1 << bits) - self._cycles
        idle = Signal(bits + 1, init=first)  # its upper bit tells that there were too many
        too_long = idle[-1]
        m.d.comb += self.expired.eq(too_long & self.watches & ~self.progress)
        with m.If(~self.watches | self.progress):
            m.d.sync += idle.eq(first)
        with m.Elif(~self.excused & ~too_long):
            m.d.sync += idle.eq(idle + 1)
        return m

"""Counts of elements by class."""

from amaranth.hdl import Module, Signal, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from adagrain.hdl.checks import check_integer
from adagrain.hdl.stream.packet import check_lanes

from .quantise import Quantised

__all__ = ["Counts"]

#: Class of a quantised element → field of the record.
_CLASSES = {
    "present": "count",
    "nan": "nan",
    "positive_infinity": "positive_infinity",
    "negative_infinity": "negative_infinity",
    "zero": "zero",
    "clamped": "saturated",
}


class Counts(wiring.Component):
    """Counts the classes of the elements of all lanes.

    One beat per cycle, latency :attr:`LATENCY` cycles, no back-pressure.

    Parameters
    ----------
    lanes : int
        Elements per cycle: 1, 2 or 4.
    bits : int
        Width of a counter, 1 to 32.

    Members
    -------
    clear : ``In(1)``
        Start at 0.
    i : ``In(data.ArrayLayout(Quantised, lanes))``
        Elements.
    o : ``Out(...)``
        Counters by the names of ``StatisticsRecord``, and ``overflow``: more elements came than
        a counter can hold; ``count`` then stays at its largest value, and the others wrap.

    Raises
    ------
    TypeError, ValueError
        If a parameter is not what it must be.
    """

    LATENCY = 2

    def __init__(self, lanes: int, bits: int) -> None:
        check_lanes(lanes)
        check_integer("bits", bits, 1, 32)
        self._lanes = lanes
        self._bits = bits
        fields = dict.fromkeys(_CLASSES.values(), unsigned(bits))
        super().__init__(
            {
                "clear": In(1),
                "i": In(data.ArrayLayout(Quantised, lanes)),
                "o": Out(data.StructLayout({**fields, "overflow": unsigned(1)})),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        for source, field in _CLASSES.items():
            arrived = Signal(range(self._lanes + 1), name=f"arrived_{field}")
            total = Signal(range((1 << self._bits) + self._lanes), name=f"total_{field}")
            counter = self.o[field]
            m.d.sync += arrived.eq(sum(self.i[lane][source] for lane in range(self._lanes)))
            m.d.comb += total.eq(counter + arrived)
            m.d.sync += counter.eq(total)
            if field == "count":
                with m.If(total[self._bits :].any()):
                    m.d.sync += [counter.eq(-1), self.o.overflow.eq(1)]
            with m.If(self.clear):
                m.d.sync += [counter.eq(0), arrived.eq(0)]
        with m.If(self.clear):
            m.d.sync += self.o.overflow.eq(0)
        return m

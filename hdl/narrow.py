"""Between a wide port and fewer lanes."""

from amaranth.hdl import Module, Signal, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

__all__ = ["Narrow"]


class Narrow(wiring.Component):
    """Splits groups of 32-bit words into smaller groups, the first words first.

    A group is stored when it is taken; its parts follow without bubbles, and the next group is
    taken together with the last part. Latency 1. Reset drops the parts that are left.

    Parameters
    ----------
    words : int
        Words in a group that enters.
    lanes : int
        Words in a group that leaves; must divide ``words``.

    Members
    -------
    i : ``In(stream.Signature(data.ArrayLayout(32, words)))``
        Wide groups.
    o : ``Out(stream.Signature(data.ArrayLayout(32, lanes)))``
        Narrow groups.
    """

    def __init__(self, words: int, lanes: int) -> None:
        if lanes < 1 or words % lanes:
            raise ValueError(f"lanes must divide {words}, not {lanes!r}")
        self._words = words
        self._lanes = lanes
        super().__init__(
            {
                "i": In(stream.Signature(data.ArrayLayout(unsigned(32), words))),
                "o": Out(stream.Signature(data.ArrayLayout(unsigned(32), lanes))),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        parts = self._words // self._lanes
        group = Signal(32 * self._words)
        left = Signal(range(parts + 1))
        m.d.comb += [
            self.o.payload.eq(group[: 32 * self._lanes]),
            self.o.valid.eq(left != 0),
            self.i.ready.eq((left == 0) | ((left == 1) & self.o.ready)),
        ]
        with m.If(self.o.valid & self.o.ready):
            m.d.sync += [group.eq(group >> (32 * self._lanes)), left.eq(left - 1)]
        with m.If(self.i.valid & self.i.ready):
            m.d.sync += [group.eq(self.i.payload), left.eq(parts)]
        return m

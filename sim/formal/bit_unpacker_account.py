"""An account of groups and moves: where a window is, and one bit of what came."""

from amaranth.hdl import Cat, Module, Mux, Signal, signed
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

__all__ = ["GROUP_BITS", "BitUnpackerAccount"]

#: Bits of the number of a group.
GROUP_BITS = 3


class BitUnpackerAccount(wiring.Component):
    """Tells where the place must be, and what one bit of a group was.

    All is counted modulo eight groups.

    Parameters
    ----------
    width, before : int
        As those of :class:`~adagrain.hdl.codec.bit_unpacker.BitUnpacker`.

    Members
    -------
    group, number : ``In(GROUP_BITS)``, ``In(range(width))``
        The groups that are followed, and a bit in them, the first one being 0; always the same.
    came, bits : ``In(1)``, ``In(width)``
        A group is taken.
    looked, steps : ``In(1)``, ``In(ArrayLayout(range(width), 2))``
        The window is looked at, with these steps.
    moves, second, size : ``In(1)``, ``In(1)``, ``In(range(width))``
        The place moves by one of the steps, and so much more.
    restart : ``In(1)``
        All begins anew; what is taken in that cycle is the first group.
    end : ``Out(GROUP_BITS)``
        Groups that came.
    few : ``Out(2)``
        The same, but 2 stands for more of them, too.
    place, total : ``Out(GROUP_BITS + log2(width))``
        Where the place is, and by how much it moves.
    kept : ``Out(ArrayLayout(range(width), 2))``
        Steps of the last look.
    moved : ``Out(range(width + 1))``
        By how much it moved last.
    held, beyond : ``Out(signed(GROUP_BITS + log2(width)))``
        Bits that came and lie behind the place; and where behind the place that bit is that is
        followed.
    seen, bit : ``Out(1)``
        A group that is followed came; the bit of the last one.
    """

    def __init__(self, width: int, before: int) -> None:
        self._width, self._before = width, before
        bits = GROUP_BITS + exact_log2(width)
        super().__init__(
            {
                "group": In(GROUP_BITS),
                "number": In(range(width)),
                "came": In(1),
                "bits": In(width),
                "looked": In(1),
                "steps": In(data.ArrayLayout(range(width), 2)),
                "moves": In(1),
                "second": In(1),
                "size": In(range(width)),
                "restart": In(1),
                "end": Out(GROUP_BITS),
                "few": Out(2),
                "place": Out(bits),
                "total": Out(bits),
                "kept": Out(data.ArrayLayout(range(width), 2)),
                "moved": Out(range(width + 1)),
                "held": Out(signed(bits)),
                "beyond": Out(signed(bits)),
                "seen": Out(1),
                "bit": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        size = exact_log2(self._width)
        start = Signal(GROUP_BITS + size)
        m.d.comb += [
            start.eq(Cat(self.number, self.group)),
            self.total.eq(Mux(self.second, self.kept[1], self.kept[0]) + self.size),
            self.held.eq((self.end << size) - self.place),
            self.beyond.eq(start - self.place),
        ]
        end, few = Signal.like(self.end), Signal.like(self.few)
        with m.If(~self.restart):
            m.d.comb += [end.eq(self.end), few.eq(self.few)]
        with m.If(self.looked):
            m.d.sync += self.kept.eq(self.steps)
        with m.If(self.moves):
            m.d.sync += [self.place.eq(self.place + self.total), self.moved.eq(self.total)]
        with m.If(self.restart):
            m.d.sync += [n.eq(0) for n in (self.end, self.few, self.place, self.moved, self.seen)]
        with m.If(self.came):
            m.d.sync += [self.end.eq(end + 1), self.few.eq(Mux(few == 2, 2, few + 1))]
            with m.If(end == self.group):
                m.d.sync += [
                    self.seen.eq(1),
                    self.bit.eq((self.bits << self.number)[self._width - 1]),
                ]
        return m

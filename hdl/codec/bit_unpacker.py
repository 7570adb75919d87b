"""Groups of bits as a window that moves by any number of bits."""

from collections.abc import Sequence
from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from adagrain.hdl.checks import check_integer, check_power_of_two

__all__ = ["BitUnpacker"]


class BitUnpacker(wiring.Component):
    """Shows what stands before and behind a place in a stream of bits, and moves the place.

    The highest bit of a group is its first one. It holds two groups, the one of the place and the
    next or the last; the window follows the place in the same cycle. Who uses it takes turns: a
    ``look`` at the window, a ``move``, the next look. A turn of two cycles never waits where ``i``
    does not, and moves are of at most ``width - ahead`` bits.

    It does not know how many groups there are: nobody may ask it to move behind bits that it does
    not have.

    Parameters
    ----------
    width : int
        Bits of a group, a power of two, at least 4.
    before, ahead : int
        Bits that are shown on either side of the place; in all at most three quarters of a group.

    Members
    -------
    restart : ``In(1)``
        Forget all: the place is the start of the next group. With a ``look``, which may be where
        ``i`` is valid, of the group on ``i``, which is taken.
    i : ``In(stream.Signature(width))``
        Groups; ``ready`` where one of those that are held is not needed any more.
    complete : ``In(1)``
        No more groups will come: what the window shows behind the last one is undefined.
    before, excess : ``Out(before + width // 4 - 1)``, ``Out(range(width // 4))``
        What stands before the place, the last bit lowest, and behind it so many more. Of what
        stands before, the bits of the last move are defined.
    ahead : ``Out(ahead)``
        What stands behind the place, the first bit highest; in a restart, on ``i``.
    valid : ``Out(1)``
        The window may be looked at, but for a restart.
    look, steps : ``In(1)``, ``In(ArrayLayout(range(width), 2))``
        It is, and what stands before the place is not needed any more. Only while ``valid``. By
        one of two steps the place will move.
    move, second, size : ``In(1)``, ``In(1)``, ``In(range(width))``
        Move the place by the first or the second step and so many bits more; in the cycle after
        that of the look. In all they are at most the bits of a group.
    at : ``Out(range(width))``
        The place within its group.
    held : ``Out(2)``
        Groups that are held from that of the place on.

    Attributes
    ----------
    registers : dict
        Its state by names, once it is elaborated; what proofs speak of.

    Raises
    ------
    TypeError, ValueError
        If a parameter is not what it must be.
    """

    def __init__(self, width: int, before: int, ahead: int) -> None:
        check_power_of_two("width", width, 4)
        check_integer("ahead", ahead, 1, 3 * width // 4 - 1)
        check_integer("before", before, 1, 3 * width // 4 - ahead)
        self._width = width
        self._before = before
        self._ahead = ahead
        self.registers: dict[str, Any] = {}
        super().__init__(
            {
                "restart": In(1),
                "i": In(stream.Signature(width)),
                "complete": In(1),
                "before": Out(before + width // 4 - 1),
                "excess": Out(range(width // 4)),
                "ahead": Out(ahead),
                "valid": Out(1),
                "look": In(1),
                "steps": In(data.ArrayLayout(range(width), 2)),
                "move": In(1),
                "second": In(1),
                "size": In(range(width)),
                "at": Out(range(width)),
                "held": Out(2),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        halves = [Signal(self._width, name=f"half_{n}", reset_less=True) for n in range(2)]
        fetched = Signal(2)  # groups, modulo 4
        place = Signal(len(self.at) + 2)  # above the bits of ``at``, groups modulo 4
        stepped = [Signal.like(place, name=f"stepped_{n}", reset_less=True) for n in range(2)]
        looked = Signal()
        only = self.held == 1
        needs = (self.held == 0) | (only & (looked | (self.at >= self._before)))
        m.d.comb += [
            Cat(self.at).eq(place),
            self.held.eq(fetched - place[-2:]),
            self.valid.eq(
                self.complete | self.held[1] | (only & (self.at <= self._width - self._ahead))
            ),
            self.i.ready.eq(Mux(self.restart, self.look, needs)),
        ]
        self._show(m, halves, place[:-1])
        there, came = (Mux(self.restart, 0, register) for register in (place, fetched))
        taken = self.i.valid & self.i.ready
        for number, half in enumerate(halves):
            with m.If(taken & (came[0] == number)):
                m.d.sync += half.eq(self.i.payload)
        ends = [after + self.size for after in stepped]
        for number, after in enumerate(stepped):
            m.d.sync += after.eq(there + self.steps[number])
        m.d.sync += [
            fetched.eq(came + taken),
            looked.eq(self.look | (looked & ~self.move & ~self.restart)),
            place.eq(Mux(self.move & ~self.restart, Mux(self.second, *ends[::-1]), there)),
        ]
        self.registers |= {"halves": halves, "fetched": fetched, "place": place}
        self.registers |= {"stepped": stepped, "looked": looked}
        return m

    def _show(self, m: Module, halves: list[Signal], place: Value) -> None:
        """Bits at a place in both halves, which follow each other in a ring."""
        first_to_last = Cat(halves[0][::-1], halves[1][::-1])
        ring = first_to_last.rotate_left(self._before)  # so that what is shown begins at its place
        *at, second = place
        column = self._width // 4
        parts = []
        for number in range(4):
            here = ring[number * column : (number + 1) * column]
            there = ring[self._width + number * column : self._width + (number + 1) * column]
            passed = number < Cat(at[-2:])
            parts.append(Mux(second ^ passed, there, here))
        shown = self._before + self._ahead
        columns = _shifted(m, Cat(parts, parts), at, range(len(at) - 2, len(at)), shown)
        behind = _shifted(m, columns[self._before :], at, range(len(at) - 2), self._ahead)
        m.d.comb += [
            self.before.eq(columns[: len(self.before)][::-1]),
            self.excess.eq(~Cat(at[:-2])),
            self.ahead.eq(Mux(self.restart, self.i.payload[-self._ahead :], behind[::-1])),
        ]


def _shifted(m: Module, bits: Value, by: Sequence[Value], powers: range, length: int) -> Value:
    """So many of the bits that follow the first ones, whose number these bits of ``by`` tell."""
    for power in reversed(powers):
        kept = length + (1 << power) - 1
        stage = Signal(kept, name=f"shifted_{power}")
        m.d.comb += stage.eq(Mux(by[power], bits[1 << power :], bits)[:kept])
        bits = stage
    return bits

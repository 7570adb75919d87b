"""Groups of bits as a window that moves by any number of bits."""

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from adagrain.hdl.checks import check_integer, check_power_of_two

__all__ = ["BitUnpacker"]


class BitUnpacker(wiring.Component):
    """Shows what stands before and behind a place in a stream of bits, and moves the place.

    The highest bit of a group is its first one. It holds two groups, the one of the place and the
    next or the last; the window follows the place in the same cycle. Who uses it takes turns: a
    ``look`` at the window, a ``move``, the next look. A turn of two cycles never waits where ``i``
    does not.

    It does not know how many groups there are: nobody may ask it to move behind bits that it does
    not have.

    Parameters
    ----------
    width : int
        Bits of a group, a power of two, at least 4.
    before, ahead : int
        Bits of the window on either side of the place; in all at most three quarters of a group.

    Members
    -------
    restart : ``In(1)``
        Forget all: the place is the start of the next group.
    i : ``In(stream.Signature(width))``
        Groups; ``ready`` where one of those that are held is not needed any more.
    complete : ``In(1)``
        No more groups will come: what the window shows behind the last one is undefined.
    o : ``Out(before + ahead)``
        The window, first bit highest. Before the place there are defined bits of one move at most.
    valid : ``Out(1)``
        The window may be looked at.
    look : ``In(1)``
        It is, and what stands before the place is not needed any more. Only while ``valid``.
    move, size : ``In(1)``, ``In(range(width + 1))``
        Move the place by so many bits; in a cycle after that of the look.
    at : ``Out(range(width))``
        The place within its group.
    held : ``Out(2)``
        Groups that are held from that of the place on.

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
        super().__init__(
            {
                "restart": In(1),
                "i": In(stream.Signature(width)),
                "complete": In(1),
                "o": Out(before + ahead),
                "valid": Out(1),
                "look": In(1),
                "move": In(1),
                "size": In(range(width + 1)),
                "at": Out(range(width)),
                "held": Out(2),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        halves = [Signal(self._width, name=f"half_{n}", reset_less=True) for n in range(2)]
        fetched = Signal(2)  # groups, modulo 4
        place = Signal(len(self.at) + 2)  # above the bits of ``at``, groups modulo 4
        looked = Signal()
        only = self.held == 1
        m.d.comb += [
            Cat(self.at).eq(place),
            self.held.eq(fetched - place[-2:]),
            self.valid.eq(
                self.complete | self.held[1] | (only & (self.at <= self._width - self._ahead))
            ),
            self.i.ready.eq((self.held == 0) | (only & (looked | (self.at >= self._before)))),
            self.o.eq(self._window(m, halves, place[:-1])),
        ]
        with m.If(self.i.valid & self.i.ready):
            m.d.sync += fetched.eq(fetched + 1)
            for number, half in enumerate(halves):
                with m.If(fetched[0] == number):
                    m.d.sync += half.eq(self.i.payload)
        with m.If(self.look):
            m.d.sync += looked.eq(1)
        with m.If(self.move):
            m.d.sync += [looked.eq(0), place.eq(place + self.size)]
        with m.If(self.restart):
            m.d.sync += [looked.eq(0), place.eq(0), fetched.eq(0)]
        return m

    def _window(self, m: Module, halves: list[Signal], place: Value) -> Value:
        """The window at a place in both halves, which follow each other in a ring."""
        first_to_last = Cat(halves[0][::-1], halves[1][::-1])
        ring = first_to_last.rotate_left(self._before)  # so that the window begins at its place
        *at, second = place
        column = self._width // 4
        parts = []
        for number in range(4):
            here = ring[number * column : (number + 1) * column]
            there = ring[self._width + number * column : self._width + (number + 1) * column]
            passed = number < Cat(at[-2:])
            parts.append(Mux(second ^ passed, there, here))
        bits = self._named(m, Cat(parts, parts))
        for power, shifts in reversed([*enumerate(at)]):
            needed = len(self.o) + (1 << power) - 1
            bits = self._named(m, Mux(shifts, bits[1 << power :], bits)[:needed])
        return bits[::-1]

    def _named(self, m: Module, value: Value) -> Signal:
        """A stage of the shifter, which would be made anew wherever it is used."""
        stage = Signal(len(value), name="stage")
        m.d.comb += stage.eq(value)
        return stage

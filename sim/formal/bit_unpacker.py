"""The bit unpacker: what it shows is what came, at any place."""

from amaranth.hdl import Assert, Assume, Cover, Module, Mux, Signal, Value
from amaranth.lib import stream
from amaranth.lib.wiring import In, connect, flipped

from adagrain.hdl.codec.bit_unpacker import BitUnpacker

from .harness import Proof, assume_stable, transfers

__all__ = ["BitUnpackerProof"]

_WIDTH, _BEFORE, _AHEAD = 8, 4, 2


class BitUnpackerProof(Proof):
    """A bit is shown as it came wherever it is shown, and a turn never waits without need."""

    DEPTH = 12
    MUTANT = (
        "hdl/codec/bit_unpacker.py",
        "only & (looked | (self.at >= self._before))",
        "only & (looked | (self.at >= self._before - 1))",
    )

    def __init__(self) -> None:
        super().__init__(
            {
                "i": In(stream.Signature(_WIDTH)),
                "complete": In(1),
                "asked": In(1),
                "first": In(range(_WIDTH)),
                "other": In(range(_WIDTH)),
                "second": In(1),
                "size": In(range(_WIDTH)),
            }
        )

    def build(self, m: Module) -> None:
        m.submodules.unpacker = unpacker = BitUnpacker(_WIDTH, _BEFORE, _AHEAD)
        connect(m, flipped(self.i), unpacker.i)
        assume_stable(m, self.i)
        looked, was_complete = Signal(), Signal()
        first, other = Signal.like(self.first), Signal.like(self.other)
        place, end, moved = Signal(7), Signal(7), Signal(range(_WIDTH + 1))
        m.d.comb += [
            unpacker.complete.eq(self.complete),
            unpacker.look.eq(self.asked & unpacker.valid & ~looked),
            unpacker.steps[0].eq(self.first),
            unpacker.steps[1].eq(self.other),
            unpacker.move.eq(looked),
            unpacker.second.eq(self.second),
            unpacker.size.eq(self.size),
            Assume(~was_complete | self.complete),
            Assume(~self.complete | (~self.i.valid & (place <= end))),
        ]
        m.d.sync += [
            looked.eq(unpacker.look),
            was_complete.eq(self.complete),
            first.eq(self.first),
            other.eq(self.other),
        ]
        with m.If(transfers(self.i)):
            m.d.sync += end.eq(end + _WIDTH)
        total = Mux(self.second, other, first) + self.size
        with m.If(looked):
            m.d.comb += Assume((total != 0) & (total <= _WIDTH - _AHEAD))
            m.d.sync += [place.eq(place + total), moved.eq(total)]
        self._demand_bits(m, unpacker, unpacker.valid & ~looked, place, end, moved)
        self._demand_progress(m, unpacker, looked)
        m.d.comb += Cover(unpacker.look & (place > 2 * _WIDTH))
        m.d.comb += Cover(unpacker.look & self.complete & (place == 2 * _WIDTH))

    def _demand_bits(
        self,
        m: Module,
        unpacker: BitUnpacker,
        shows: Value,
        place: Signal,
        end: Signal,
        moved: Signal,
    ) -> None:
        """The bit of number ``watch`` is what came, on either side of the place."""
        bit, seen = Signal(), Signal()
        with m.If(transfers(self.i) & (self.watch[3:] == end[3:])):
            m.d.sync += [seen.eq(1), bit.eq(self.i.payload.bit_select(~self.watch[:3], 1))]
        before = unpacker.before >> unpacker.excess
        with m.If(shows):
            m.d.comb += Assert(self.complete | (place + _AHEAD <= end))
        for n in range(_AHEAD):
            with m.If(shows & seen & (place + n == self.watch)):
                m.d.comb += Assert(unpacker.ahead[-1 - n] == bit)
        for n in range(_BEFORE):
            with m.If(shows & seen & (n < moved) & (place == self.watch + n + 1)):
                m.d.comb += Assert(before[n] == bit)

    def _demand_progress(self, m: Module, unpacker: BitUnpacker, looked: Signal) -> None:
        """It takes a group where it has to wait; where groups and looks come at once, it waits for
        the first one only.
        """
        with m.If(~unpacker.valid & ~looked & ~self.complete):
            m.d.comb += Assert(self.i.ready)
        always, started = Signal(init=1), Signal()
        m.d.sync += [
            always.eq(always & self.i.valid & (looked | ~unpacker.valid | self.asked)),
            started.eq(started | unpacker.valid),
        ]
        with m.If(always & started & ~looked):
            m.d.comb += Assert(unpacker.valid)

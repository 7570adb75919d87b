"""The bit unpacker: what it shows is what came, at any place."""

from amaranth.hdl import Assert, Assume, Cover, Module, Mux, Signal
from amaranth.lib import stream
from amaranth.lib.wiring import In, connect, flipped

from adagrain.hdl.codec.bit_unpacker import BitUnpacker

from .harness import Proof, assume_stable, counted, transfers

__all__ = ["BitUnpackerProof"]

_WIDTH, _BEFORE, _AHEAD = 8, 4, 2

#: Groups that come in the proof.
_GROUPS = 6


class BitUnpackerProof(Proof):
    """Bits on either side of the place are those that came, and a turn never waits without need."""

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
        looked, was_complete, step = Signal(), Signal(), Signal(range(_WIDTH))
        came = Signal(_GROUPS * _WIDTH)  # the first bit lowest
        place, moved = Signal(range(2 * len(came))), Signal(range(_WIDTH + 1))
        groups = counted(m, transfers(self.i))
        m.d.comb += [
            unpacker.complete.eq(self.complete),
            unpacker.look.eq(self.asked & unpacker.valid & ~looked),
            unpacker.steps[0].eq(self.first),
            unpacker.steps[1].eq(self.other),
            unpacker.move.eq(looked),
            unpacker.second.eq(self.second),
            unpacker.size.eq(self.size),
            Assume((groups < _GROUPS) | ~self.i.valid),
            Assume(~was_complete | self.complete),
            Assume(~self.complete | (~self.i.valid & (place <= groups * _WIDTH))),
        ]
        first, other = Signal.like(self.first), Signal.like(self.other)
        m.d.sync += [
            looked.eq(unpacker.look),
            was_complete.eq(self.complete),
            first.eq(self.first),
            other.eq(self.other),
        ]
        m.d.comb += step.eq(Mux(self.second, other, first))
        with m.If(transfers(self.i)):
            m.d.sync += came.word_select(groups, _WIDTH).eq(self.i.payload[::-1])
        with m.If(looked):
            total = step + self.size
            m.d.comb += Assume((total != 0) & (total <= _WIDTH - _AHEAD))
            m.d.comb += Assume(~self.complete | (place + total <= groups * _WIDTH))
            m.d.sync += [place.eq(place + total), moved.eq(total)]
        self._demand(m, unpacker, looked, place, moved, groups, came)
        m.d.comb += Cover(unpacker.look & (place > 2 * _WIDTH))
        m.d.comb += Cover(unpacker.look & self.complete & (place == 2 * _WIDTH))

    def _demand(
        self,
        m: Module,
        unpacker: BitUnpacker,
        looked: Signal,
        place: Signal,
        moved: Signal,
        groups: Signal,
        came: Signal,
    ) -> None:
        end = groups * _WIDTH
        before = unpacker.before >> unpacker.excess
        with m.If(unpacker.valid & ~looked):
            m.d.comb += Assert(self.complete | (place + _AHEAD <= end))
            for n in range(_AHEAD):
                there = place + n < end
                shown = unpacker.ahead[-1 - n] == came.bit_select(place + n, 1)
                m.d.comb += Assert(~there | shown)
            for n in range(_BEFORE):
                shown = before[n] == came.bit_select((place - 1 - n)[: len(place)], 1)
                m.d.comb += Assert((n >= moved) | shown)
        with m.If(~unpacker.valid & ~self.complete):
            m.d.comb += Assert(looked | self.i.ready)
        always, started = Signal(init=1), Signal()
        came_at_once = self.i.valid & (looked | ~unpacker.valid | self.asked)
        m.d.sync += [always.eq(always & came_at_once), started.eq(started | unpacker.valid)]
        with m.If(always & started & ~looked):
            m.d.comb += Assert(unpacker.valid)

"""Words of a tensor into the groups of bytes that the decoder takes."""

from amaranth.hdl import Array, Cat, Const, Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from adagrain.hdl.stream.packet import beat_layout, check_lanes

from .layouts import Coded

__all__ = ["WordGrouper"]

_WORD_BITS = 32


class WordGrouper(wiring.Component):
    """Takes the words of beats one by one, and gives them in pairs.

    A word per cycle: so the decoder, which takes three cycles for the bits of a pair or more, does
    not wait. A last word without a second one leaves with zeros behind it.

    Parameters
    ----------
    lanes : int
        Words in a beat: 1, 2 or 4.

    Members
    -------
    i : ``In(stream.Signature(beat_layout(lanes)))``
        Words. The last beat may keep no lane.
    o : ``Out(stream.Signature(Coded))``
        Pairs of them.

    Raises
    ------
    TypeError, ValueError
        If ``lanes`` is not what it must be.
    """

    def __init__(self, lanes: int) -> None:
        check_lanes(lanes)
        self._lanes = lanes
        super().__init__(
            {
                "i": In(stream.Signature(beat_layout(lanes))),
                "o": Out(stream.Signature(Coded)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        beat, lane = self.i.p, Signal(range(max(2, self._lanes)))
        first, is_second = Signal(_WORD_BITS), Signal()
        keeps = Array([*beat.keep, Const(0)])  # none behind the last lane
        word = Array(beat.data[number] for number in range(self._lanes))[lane]
        kept, more, lacks = Signal(), Signal(), Signal()
        ends, moves = Signal(), Signal()
        m.d.comb += [
            kept.eq(keeps[lane]),
            more.eq(keeps[lane + 1]),
            ends.eq(beat.last & ~more),
            lacks.eq(is_second & ~kept & ends) if self._lanes == 1 else [],
            self.o.payload.eq(Mux(is_second, Cat(first, Mux(lacks, 0, word)), word)),
            self.o.valid.eq(self.i.valid & (kept & (is_second | ends) | lacks)),
            moves.eq(self.i.valid & (~self.o.valid | self.o.ready)),
            self.i.ready.eq(moves & ~more),
        ]
        with m.If(moves):
            m.d.sync += [
                first.eq(word),
                is_second.eq(kept & ~is_second & ~ends),
                lane.eq(Mux(more, lane + 1, 0)),
            ]
        return m

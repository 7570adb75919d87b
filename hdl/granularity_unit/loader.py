"""Brings operands from the tensor input into the memories."""

from amaranth.hdl import Array, Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from adagrain.hdl.checks import check_power_of_two
from adagrain.hdl.stream.packet import beat_layout, check_lanes
from adagrain.models.interface.formats import FormatCode
from adagrain.models.interface.protocol import Status
from adagrain.models.interface.units.granularity_unit import TileLoad, TileLoaded

from .operands import check_slices, write_layout

__all__ = ["Loader"]


class Loader(wiring.Component):
    """Writes the words of a pass one by one, from its address on; a word per cycle.

    Where the pass is given up, all of its words become 0, whichever had come: nothing depends on
    when that was. This goes on behind the record, and the next pass waits.

    Parameters
    ----------
    lanes : int
        Words in a beat.
    slices : int
        Memories beside that of ``a``.
    words : int
        Words of each memory: a power of two; together at most 65536.

    Members
    -------
    i_begin : ``In(stream.Signature(TileLoad))``
        Passes.
    refusal : ``Out(Status)``
        ``BAD_VALUE`` where the one on ``i_begin`` leaves the memories, or its elements are no
        words.
    i : ``In(stream.Signature(beat_layout(lanes)))``
        Words.
    o : ``Out(stream.Signature(TileLoaded))``
        A record behind each pass.
    given_up : ``In(1)``
        The record that is taken is that of a pass which is given up.
    o_words : ``Out(stream.Signature(write_layout(slices, words)))``
        Words with their addresses.
    busy : ``Out(1)``
        Words of a pass that was given up are still written.

    Raises
    ------
    TypeError, ValueError
        If there are not 1, 2 or 4 lanes, no slices or words, or more words than have an address.
    """

    def __init__(self, lanes: int, slices: int, words: int) -> None:
        check_lanes(lanes)
        check_slices(slices)
        check_power_of_two("words", words, 2, (1 << TileLoad["address"].width) // (slices + 1))
        self._lanes, self._room = lanes, (slices + 1) * words
        super().__init__(
            {
                "i_begin": In(stream.Signature(TileLoad)),
                "refusal": Out(Status),
                "i": In(stream.Signature(beat_layout(lanes))),
                "o": Out(stream.Signature(TileLoaded)),
                "given_up": In(1),
                "o_words": Out(stream.Signature(write_layout(slices, words))),
                "busy": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        begin = self.i_begin.p
        first, count = Signal(range(self._room)), Signal(range(self._room + 1))
        left, address = Signal.like(count), self.o_words.p.address
        at = Signal.like(first)
        beyond = begin.count > self._room - begin.address
        m.d.comb += [address.eq(at), self.o.p.words.eq(count)]
        with m.If((begin.format != FormatCode.FP32) | (begin.address > self._room) | beyond):
            m.d.comb += self.refusal.eq(Status.BAD_VALUE)

        written = self.o_words.valid & self.o_words.ready
        with m.If(written):
            m.d.sync += at.eq(at + 1)
        with m.FSM():
            with m.State("IDLE"):
                m.d.comb += self.i_begin.ready.eq(1)
                m.d.sync += [first.eq(begin.address), count.eq(begin.count), at.eq(begin.address)]
                with m.If(self.i_begin.valid):
                    m.next = "WORDS"
            with m.State("WORDS"):
                with m.If(self._take_beat(m, written)):
                    m.next = "RECORD"
            with m.State("RECORD"):
                m.d.comb += self.o.valid.eq(1)
                m.d.sync += [at.eq(first), left.eq(count)]
                with m.If(self.o.ready):
                    m.next = "IDLE"
                    with m.If(self.given_up):
                        m.next = "CLEAR"
            with m.State("CLEAR"):
                m.d.comb += [self.o_words.valid.eq(1), self.busy.eq(1)]
                with m.If(written):
                    m.d.sync += left.eq(left - 1)
                    with m.If(left == 1):
                        m.next = "IDLE"
        return m

    def _take_beat(self, m: Module, written: Signal) -> Signal:
        """Write the lanes of a beat one after the other; high as the pass's last beat is taken."""
        lane = Signal(range(max(2, self._lanes)))
        beat = self.i.p
        keeps = Array([*beat.keep, 0])  # none behind the last lane
        more = keeps[lane + 1]
        m.d.comb += [
            self.o_words.p.word.eq(Array(beat.data[number] for number in range(self._lanes))[lane]),
            self.o_words.valid.eq(self.i.valid & keeps[lane]),
            self.i.ready.eq(~keeps[lane] | self.o_words.ready & ~more),
        ]
        with m.If(written):
            m.d.sync += lane.eq(lane + 1)
        with m.If(self.i.valid & self.i.ready):
            m.d.sync += lane.eq(0)
        return self.i.valid & self.i.ready & beat.last

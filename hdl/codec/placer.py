"""Puts elements to their places, and zeros between them."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from adagrain.hdl.stream.packet import check_lanes
from adagrain.models.interface.codec import ELEMENT_BITS, GAP_BITS, BlockOutcome

from .decoder_layouts import Element, Kind
from .layouts import elements_layout

__all__ = ["Placer"]


class Placer(wiring.Component):
    """Makes beats of elements, and of the +0 between them.

    A beat per cycle, and an element per cycle, both at once where an element is in the beat that
    follows; a block's last element takes one more. A block's last beats leave as its end has come,
    and its outcome is offered in the cycle after that; the next block's last beat waits until that
    is taken.

    From the first element that is wrong to the block's end all are +0.

    Parameters
    ----------
    lanes : int
        Elements in a beat: 1, 2 or 4.

    Members
    -------
    i : ``In(stream.Signature(Element))``
        For each block its elements, of which one is ``LAST``; or ``END`` or ``CUT`` behind them.
    o : ``Out(stream.Signature(elements_layout(lanes)))``
        Beats.
    o_block : ``Out(stream.Signature(BlockOutcome))``
        For each block.

    Raises
    ------
    TypeError, ValueError
        If a parameter is not what it must be.
    """

    def __init__(self, lanes: int) -> None:
        check_lanes(lanes)
        self._lanes = lanes
        super().__init__(
            {
                "i": In(stream.Signature(Element)),
                "o": Out(stream.Signature(elements_layout(lanes))),
                "o_block": Out(stream.Signature(BlockOutcome)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        lane_bits = (self._lanes - 1).bit_length()
        given = self.i.payload
        # The element or end that comes next, its place, and the block's last one.
        valid, ends, below, cut = Signal(), Signal(), Signal(), Signal()
        is_last = Signal()  # behind the element comes the end
        word = Signal(ELEMENT_BITS, reset_less=True)
        place = Signal(GAP_BITS + 1, reset_less=True)
        final, closes = Signal(GAP_BITS, reset_less=True), Signal()
        taken = Signal()

        m.d.comb += self.i.ready.eq(~valid | (taken & ~is_last))
        with m.If(taken):
            m.d.sync += [valid.eq(is_last), ends.eq(1), is_last.eq(0)]
        with m.If(self.i.valid & self.i.ready):
            m.d.sync += [
                valid.eq(1),
                is_last.eq(given.kind == Kind.LAST),
                ends.eq((given.kind == Kind.END) | (given.kind == Kind.CUT)),
                cut.eq(given.kind == Kind.CUT),
                below.eq(given.below),
                word.eq(given.word),
                place.eq(Mux(given.start.begins, 0, place + 1) + given.gap),
            ]
            with m.If(given.start.begins):
                m.d.sync += [final.eq(given.start.final), closes.eq(given.start.closes)]

        # The beat that is next to leave, and what was found so far.
        lanes = [Signal(ELEMENT_BITS, name=f"lane_{n}") for n in range(self._lanes)]
        number, following = Signal(GAP_BITS - lane_bits), Signal(GAP_BITS - lane_bits, init=1)
        outcome = Signal(BlockOutcome)
        beyond, fits, is_here, is_next = Signal(), Signal(), Signal(), Signal()
        at_end, leaves, put = Signal(), Signal(), Signal()
        m.d.comb += [
            beyond.eq(place > final),
            fits.eq(valid & ~ends & ~below & ~beyond & (outcome == BlockOutcome.FINE)),
            is_here.eq(place[lane_bits:-1] == number),
            is_next.eq(place[lane_bits:-1] == following),
            at_end.eq(valid & ends & (number == final[lane_bits:])),
            self.o.valid.eq(Mux(ends, valid & ~(at_end & self.o_block.valid), fits & ~is_here)),
            leaves.eq(self.o.valid & self.o.ready),
            put.eq(fits & (is_here | (is_next & leaves))),
            taken.eq(put | (valid & ~ends & ~fits) | (at_end & leaves)),
            self.o.payload.data.eq(Cat(lanes)),
            self.o.payload.keep.eq(-1),
            self.o.payload.last.eq(at_end & closes),
        ]
        with m.If(at_end):
            m.d.comb += self.o.payload.keep.eq(
                Cat(final[:lane_bits] >= lane for lane in range(self._lanes))
            )
        with m.If(leaves):
            m.d.sync += [number.eq(following), following.eq(following + 1)]
        for n, lane in enumerate(lanes):
            is_put = put & (place[:lane_bits] == n)
            with m.If(leaves & ~is_put):
                m.d.sync += lane.eq(0)
            with m.Elif(is_put):
                m.d.sync += lane.eq(word)

        with m.If(self.o_block.ready):
            m.d.sync += self.o_block.valid.eq(0)
        with m.If(valid & ~ends & (outcome == BlockOutcome.FINE)):
            with m.If(beyond):
                m.d.sync += outcome.eq(BlockOutcome.BEYOND)
            with m.Elif(below):
                m.d.sync += outcome.eq(BlockOutcome.BELOW)
        with m.If(at_end & leaves):
            m.d.sync += [
                number.eq(0),
                following.eq(1),
                outcome.eq(BlockOutcome.FINE),
                self.o_block.valid.eq(1),
                self.o_block.payload.eq(outcome),
            ]
            with m.If(cut & (outcome == BlockOutcome.FINE)):
                m.d.sync += self.o_block.payload.eq(BlockOutcome.CUT)
        return m

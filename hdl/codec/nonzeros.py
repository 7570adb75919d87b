"""Finds the elements that are not +0."""

from amaranth.hdl import Cat, Module, Mux, Signal, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from adagrain.hdl.checks import check_integer
from adagrain.hdl.stream.packet import check_lanes
from adagrain.hdl.stream.queue import Queue
from adagrain.models.interface.codec import BLOCK, ELEMENT_BITS

from .encoder_layouts import Item
from .layouts import elements_layout

__all__ = ["Nonzeros"]


class Nonzeros(wiring.Component):
    """Cuts regions into blocks, and gives what is not +0 of each, one element a cycle.

    Beats of zeros pass, one a cycle, while the elements of others wait in a queue; the input waits
    where that is full. A mark follows the last element of each block, and takes a cycle too. An
    element leaves four cycles after it came, or later.

    Parameters
    ----------
    lanes : int
        Elements in a beat: 1, 2 or 4.
    depth : int
        Beats with elements that wait, at least 3: :class:`.Queue` halves the rate below.

    Members
    -------
    i : ``In(stream.Signature(elements_layout(lanes)))``
        Regions, one behind the other.
    o : ``Out(stream.Signature(Item))``
        Elements, and marks.

    Raises
    ------
    TypeError, ValueError
        If a parameter is not what it must be.
    """

    def __init__(self, lanes: int, depth: int = 32) -> None:
        check_lanes(lanes)
        check_integer("depth", depth, 3)
        self._lanes, self._depth = lanes, depth
        super().__init__(
            {
                "i": In(stream.Signature(elements_layout(lanes))),
                "o": Out(stream.Signature(Item)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        beats = data.StructLayout(
            {
                "data": data.ArrayLayout(unsigned(ELEMENT_BITS), self._lanes),
                "present": unsigned(self._lanes),  # lanes whose element is not +0
                "number": range(BLOCK // self._lanes),  # of the beat within its block
                "kept": range(self._lanes + 1),  # elements
                "ends": unsigned(1),  # the block
                "closes": unsigned(1),  # the region
            }
        )
        m.submodules.waiting = waiting = Queue(beats, self._depth)
        self._sort(m, waiting.i)
        self._give(m, waiting.o)
        return m

    def _sort(self, m: Module, waiting: stream.Interface) -> None:
        """Look at a beat, and let it wait if there is anything in it."""
        held, full, waits = Signal.like(waiting.payload), Signal(), Signal()
        number = Signal(range(BLOCK // self._lanes))
        beat = self.i.p
        present = Cat(beat.keep[n] & (beat.data[n] != 0) for n in range(self._lanes))
        ends = beat.last | number.all()
        m.d.comb += [
            waiting.payload.eq(held),
            waiting.valid.eq(full & waits),
            self.i.ready.eq(~full | ~waits | waiting.ready),
        ]
        with m.If(self.i.ready):
            m.d.sync += [
                full.eq(self.i.valid),
                waits.eq(present.any() | ends),
                held.data.eq(beat.data),
                held.present.eq(present),
                held.number.eq(number),
                held.kept.eq(sum(beat.keep)),
                held.ends.eq(ends),
                held.closes.eq(beat.last),
            ]
        with m.If(self.i.valid & self.i.ready):
            m.d.sync += number.eq(Mux(ends, 0, number + 1))

    def _give(self, m: Module, waiting: stream.Interface) -> None:
        """Give what a beat holds from the first lane on, and then its mark."""
        beat, given = waiting.p, Signal(self._lanes)
        left, first = Signal(self._lanes), Signal(self._lanes)
        is_end, is_last = ~left.any(), Signal()
        lane = sum(Mux(first[n], n, 0) for n in range(self._lanes))
        at = beat.number << exact_log2(self._lanes)
        m.d.comb += [
            left.eq(beat.present & ~given),
            first.eq(left & -left),
            is_last.eq((left == first) & (is_end | ~beat.ends)),
        ]
        with m.If(~self.o.valid | self.o.ready):
            m.d.comb += waiting.ready.eq(is_last)
            m.d.sync += [
                self.o.valid.eq(waiting.valid),
                self.o.p.word.eq(beat.data[lane]),
                self.o.p.place.eq(at + lane),
                self.o.p.last.eq(is_end),
                self.o.p.mark.closes.eq(beat.closes),
                self.o.p.mark.count.eq(at + beat.kept),
            ]
            with m.If(waiting.valid):
                m.d.sync += given.eq(Mux(is_last, 0, given | first))

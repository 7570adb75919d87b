"""Beats of elements into the words of a block."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from adagrain.hdl.stream.packet import check_lanes
from adagrain.models.interface.codec import ELEMENT_BITS

from .block_buffer import Word
from .layouts import elements_layout

__all__ = ["ElementWords"]


class ElementWords(wiring.Component):
    """Puts elements behind each other, four in a word; zeros fill a region's last one.

    A beat per cycle, latency 0.

    Parameters
    ----------
    lanes : int
        Elements in a beat: 1, 2 or 4.

    Members
    -------
    i : ``In(stream.Signature(elements_layout(lanes)))``
        Elements; lanes that hold none are 0.
    o : ``Out(stream.Signature(Word))``
        Words.

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
                "i": In(stream.Signature(elements_layout(lanes))),
                "o": Out(stream.Signature(Word)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        width = self._lanes * ELEMENT_BITS
        parts = Word.width // width
        part, gathered = Signal(range(max(2, parts))), Signal(Word)
        ends = self.i.p.last | (part == parts - 1)
        m.d.comb += [
            self.o.payload.eq(gathered),
            self.o.payload.word_select(part, width).eq(self.i.p.data.as_value()),
            self.o.valid.eq(self.i.valid & ends),
            self.i.ready.eq(~ends | self.o.ready),
        ]
        with m.If(self.i.valid & self.i.ready):
            m.d.sync += [
                gathered.eq(Mux(ends, 0, self.o.payload)),
                part.eq(Mux(ends, 0, part + 1)),
            ]
        return m

"""An account of chunks: what words a packer must make of them."""

from typing import Any

from amaranth.hdl import Cat, Module, Mux, Shape, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from adagrain.hdl.codec.bit_packer import packed_layout
from adagrain.hdl.codec.encoder_layouts import chunk_layout

__all__ = ["WORD_BITS", "BitPackerAccount", "bit_at"]

#: Bits of the number of a word.
WORD_BITS = 3


class BitPackerAccount(wiring.Component):
    """Tells of chunks what one bit of a word must be, and whether the word ends its block.

    Words and bits are counted modulo 8 and modulo eight words.

    Parameters
    ----------
    longest, width, mark
        As those of :class:`~adagrain.hdl.codec.bit_packer.BitPacker`.

    Members
    -------
    word, place : ``In(WORD_BITS)``, ``In(range(width))``
        The words that are followed, and a place in them; always the same.
    came, chunk : ``In(1)``, ``In(chunk_layout(longest, mark))``
        A chunk is taken.
    left, leaves : ``In(1)``, ``In(packed_layout(width, mark))``
        A word leaves.
    at : ``Out(range(width))``
        Bits of the word that is begun.
    complete, number, held : ``Out(WORD_BITS)``
        Words of which all has come, those that left, and the difference.
    bit : ``Out(1)``
        What stands at the place in the word that is followed, from its begin until it leaves; 0
        before, and where nothing has come.
    ended, fill, mark : ``Out(1)``, ``Out(range(width))``, ``Out(mark)``
        Whether that word ends its block, its bits, and what came with the end, once it is complete.
    bits_held : ``Out(WORD_BITS + log2(width))``
        Bits that came and did not leave.
    """

    def __init__(self, longest: int, width: int, mark: Any) -> None:
        self._width = width
        super().__init__(
            {
                "word": In(WORD_BITS),
                "place": In(range(width)),
                "came": In(1),
                "chunk": In(chunk_layout(longest, mark)),
                "left": In(1),
                "leaves": In(packed_layout(width, mark)),
                "at": Out(range(width)),
                "complete": Out(WORD_BITS),
                "number": Out(WORD_BITS),
                "held": Out(WORD_BITS),
                "bit": Out(1),
                "ended": Out(1),
                "fill": Out(range(width)),
                "mark": Out(Shape.cast(mark)),
                "bits_held": Out(WORD_BITS + exact_log2(width)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        chunk, width, size = self.chunk, self._width, exact_log2(self._width)
        behind = Signal(range(2 * width + 1))
        completes = Signal()
        bits_came, bits_gone = Signal.like(self.bits_held), Signal.like(self.bits_held)
        m.d.comb += [
            behind.eq(self.at + chunk.length),
            completes.eq(self.came & (behind[size] | chunk.last)),
            self.held.eq(self.complete - self.number),
            self.bits_held.eq(bits_came - bits_gone),
        ]
        with m.If(self.left):
            m.d.sync += [
                self.number.eq(self.number + 1),
                bits_gone.eq(bits_gone + Mux(self.leaves.last, self.leaves.fill, width)),
            ]
            with m.If(self.number == self.word):
                m.d.sync += self.bit.eq(0)
        with m.If(self.came):
            m.d.sync += [
                self.at.eq(Mux(chunk.last, 0, behind[:size])),
                self.complete.eq(self.complete + completes),
                bits_came.eq(bits_came + chunk.length),
            ]
            self._follow(m, completes)
        return m

    def _follow(self, m: Module, completes: Value) -> None:
        """Keep what comes for the word that is followed, which may be the one behind this."""
        chunk, ahead = self.chunk, Signal(WORD_BITS)
        m.d.comb += ahead.eq(self.word - self.complete)
        padded = (self.place[3:] == self.at[3:]) & (self.at[:3] != 0)
        with m.If(ahead[1:] == 0):
            reached = Cat(self.place, ahead[0]) - self.at
            with m.If(chunk.last & (ahead == 0) & (self.place >= self.at)):
                m.d.sync += self.bit.eq(padded)
            with m.Elif((reached >= 0) & (reached < chunk.length)):
                m.d.sync += self.bit.eq(bit_at(chunk.bits, reached))
        with m.If((ahead == 0) & completes):
            m.d.sync += [
                self.ended.eq(chunk.last),
                self.fill.eq(self.at),
                self.mark.eq(Value.cast(chunk.mark)),
            ]


def bit_at(bits: Value, number: Value) -> Value:
    """The bit of a number, the highest one's being 0; 0 where there is none."""
    return (number >= 0) & (bits[::-1] >> number.as_unsigned())[0]

"""Lengths of coded blocks."""

from amaranth.hdl import Cat, Module, Mux, Signal, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from adagrain.models.interface.codec import BLOCK

from .bit_packer import packed_layout
from .encoder_layouts import CodedWord, Mark
from .layouts import CODED_BYTES

__all__ = ["Lengths"]

#: Words of a block that is stored: no more of one are sent.
_MOST = 2 * BLOCK // CODED_BYTES


class Lengths(wiring.Component):
    """Counts the bytes of each block, and tells with its last word whether it is too long.

    A word per cycle; one leaves when the next one comes, or its block's end. A block without bytes
    has a last word all the same. Of one that exceeds the elements of a whole block the rest is
    dropped.

    Members
    -------
    i : ``In(stream.Signature(packed_layout(64, Mark)))``
        Words of a packer.
    o : ``Out(stream.Signature(CodedWord))``
        Their bytes.
    """

    def __init__(self) -> None:
        super().__init__(
            {
                "i": In(stream.Signature(packed_layout(8 * CODED_BYTES, Mark))),
                "o": Out(stream.Signature(CodedWord)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        measured = stream.Signature(
            data.StructLayout({"word": CodedWord, "has_none": unsigned(1)})
        ).create(path=("measured",))
        self._measure(m, measured)
        self._hold(m, measured)
        return m

    def _measure(self, m: Module, measured: stream.Interface) -> None:
        """Tell how long the block is up to a word, and whether it has none of its own."""
        words = Signal(range(_MOST + 1))
        is_over = words == _MOST
        length = Signal.like(self.o.p.length)
        given, word = self.i.p, measured.p.word
        own = Mux(is_over, 0, (given.fill + 7) >> 3)
        m.d.comb += length.eq((words << exact_log2(CODED_BYTES)) + own)
        with m.If(~measured.valid | measured.ready):
            m.d.comb += self.i.ready.eq(1)
            m.d.sync += [
                measured.valid.eq(self.i.valid & (given.last | ~is_over)),
                measured.p.has_none.eq(own == 0),
                word.data.eq(Cat(given.bits.word_select(n, 8) for n in reversed(range(8)))),
                word.last.eq(given.last),
                word.length.eq(Mux(given.last, length, 0)),
                word.given_up.eq(given.last & (length >= given.mark.count << 1)),
                word.closes.eq(given.last & given.mark.closes),
            ]
            with m.If(self.i.valid):
                m.d.sync += words.eq(Mux(given.last, 0, words + ~is_over))

    def _hold(self, m: Module, measured: stream.Interface) -> None:
        """Let a word wait until it is known whether it is its block's last one."""
        held, full = Signal(CodedWord), Signal()
        word, joins, moves = measured.p.word, Signal(), Signal()
        m.d.comb += [
            joins.eq(measured.valid & word.last & measured.p.has_none & full & ~held.last),
            self.o.valid.eq(full & (held.last | measured.valid)),
            self.o.p.eq(held),
            moves.eq(~full | self.o.valid & self.o.ready),
            measured.ready.eq(moves),
        ]
        with m.If(joins):
            m.d.comb += [self.o.p.eq(word), self.o.p.data.eq(held.data)]
        with m.If(moves):
            m.d.sync += full.eq(measured.valid & ~joins)
            with m.If(measured.valid):
                m.d.sync += held.eq(word)

"""Which words meet in which cycle of a run."""

from amaranth.hdl import Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from adagrain.models.granularity_unit import ROWS
from adagrain.models.records import TileRun

from ..dot_product.dot_product import terms_layout

__all__ = ["Sequencer"]


class Sequencer(wiring.Component):
    """Goes through a run's words, and for each through the rows, so that sums take turns.

    A pair per cycle as long as ``o`` takes it, from the third cycle after the run was taken on.

    Parameters
    ----------
    words : int
        Words of each operand memory.

    Members
    -------
    i : ``In(stream.Signature(TileRun))``
        Runs; they must be sound.
    o : ``Out(stream.Signature(terms_layout(8)))``
        Terms without their words, in the cycle in which these come out of the memories.
    en : ``Out(1)``
        The memories read.
    a_address, b_address : ``Out(range(words))``
        What they read.
    """

    def __init__(self, words: int) -> None:
        super().__init__(
            {
                "i": In(stream.Signature(TileRun)),
                "o": Out(stream.Signature(terms_layout(ROWS))),
                "en": Out(1),
                "a_address": Out(range(words)),
                "b_address": Out(range(words)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        run = Signal(TileRun)
        active = Signal()
        row, word = Signal(range(ROWS)), Signal(run.words.shape())
        last_row, last_word = row == run.rows - 1, word == run.words - 1

        m.d.comb += [
            self.i.ready.eq(~active & ~self.o.valid),
            self.en.eq(active & (~self.o.valid | self.o.ready)),
        ]
        with m.If(self.i.valid & self.i.ready):
            m.d.sync += [
                run.eq(self.i.payload),
                self.a_address.eq(self.i.p.a_first),
                self.b_address.eq(self.i.p.b_first),
                active.eq(1),
                row.eq(0),
                word.eq(0),
            ]
        with m.If(self.o.ready):
            m.d.sync += self.o.valid.eq(0)
        with m.If(self.en):
            m.d.sync += [
                self.o.valid.eq(1),
                self.o.p.mode.eq(run.mode),
                self.o.p.index.eq(row),
                self.o.p.first.eq(run.first & (word == 0)),
                self.o.p.last.eq(run.last & last_word),
                self.a_address.eq(self.a_address + 1),
                row.eq(row + 1),
            ]
            with m.If(last_row):
                m.d.sync += [row.eq(0), word.eq(word + 1), self.b_address.eq(self.b_address + 1)]
                with m.If(last_word):
                    m.d.sync += active.eq(0)
        return m

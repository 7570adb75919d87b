"""The order in which words of a run meet."""

from amaranth.hdl import Module, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from adagrain.hdl.checks import check_flag
from adagrain.hdl.dot_product.dot_product import terms_layout
from adagrain.models.interface.units.granularity_unit import ROWS, TileRun

from .operands import check_words

__all__ = ["Sequencer"]


class Sequencer(wiring.Component):
    """Goes through a run's words, and for each through the rows, so that sums take turns.

    Or through the rows, and for each through the words, so that one sum grows at a time.

    A pair per cycle as long as ``o`` takes it, from the second cycle after the run was taken on;
    the next run is taken when the last pair has been read.

    Parameters
    ----------
    words : int
        Words of each operand memory.
    by_rows : bool
        Row by row.

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
    active : ``Out(1)``
        A run is still to read; of each slice, words from ``b_first`` to below ``b_end``.
    b_first : ``Out(range(words))``
        Of that run.
    b_end : ``Out(range(words + 1))``
        Of that run.

    Raises
    ------
    TypeError, ValueError
        If a parameter is not what it must be.
    """

    def __init__(self, words: int, *, by_rows: bool) -> None:
        check_words(words)
        check_flag("by_rows", by_rows)
        self._words, self._by_rows = words, by_rows
        super().__init__(
            {
                "i": In(stream.Signature(TileRun)),
                "o": Out(stream.Signature(terms_layout(ROWS))),
                "en": Out(1),
                "a_address": Out(range(words)),
                "b_address": Out(range(words)),
                "active": Out(1),
                "b_first": Out(range(words)),
                "b_end": Out(range(words + 1)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        run = Signal(TileRun)
        enable = Signal()
        m.d.comb += [
            self.i.ready.eq(~self.active),
            enable.eq(~self.o.valid | self.o.ready),
            self.en.eq(self.active & enable),
            self.b_first.eq(run.b_first),
        ]
        # What is compared is known from the beginning, or is 0: this is the unit's longest path.
        begins = Signal()
        row, highest = Signal(range(ROWS)), Signal(range(ROWS))
        left, most = Signal(range(self._words)), Signal(range(self._words))
        last_row, last_word = row == highest, left == 0
        with m.If(self.i.valid & self.i.ready):
            m.d.sync += [
                run.eq(self.i.payload),
                self.a_address.eq(self.i.p.a_first),
                self.b_address.eq(self.i.p.b_first),
                self.b_end.eq(self.i.p.b_first + self.i.p.words),
                self.active.eq(1),
                begins.eq(1),
                row.eq(0),
                highest.eq(self.i.p.rows - 1),
                left.eq(self.i.p.words - 1),
                most.eq(self.i.p.words - 1),
            ]
        with m.If(enable):
            m.d.sync += self.o.valid.eq(self.active)
        with m.If(self.en):
            m.d.sync += [
                self.o.p.mode.eq(run.mode),
                self.o.p.index.eq(row),
                self.o.p.first.eq(run.first & begins),
                self.o.p.last.eq(run.last & last_word),
            ]
            with m.If(last_row & last_word):
                m.d.sync += self.active.eq(0)
            if self._by_rows:
                m.d.sync += [begins.eq(last_word), left.eq(left - 1)]
                self._next_word(m, run, row, last_word)
                with m.If(last_word):
                    m.d.sync += [left.eq(most), row.eq(row + 1)]
            else:
                m.d.sync += row.eq(row + 1)
                self._next_row(m, last_row)
                with m.If(last_row):
                    m.d.sync += [begins.eq(0), left.eq(left - 1), row.eq(0)]
        return m

    def _next_row(self, m: Module, last: Value) -> None:
        """Addresses of the same words; behind the last row, of the next words."""
        m.d.sync += self.a_address.eq(self.a_address + 1)
        with m.If(last):
            m.d.sync += self.b_address.eq(self.b_address + 1)

    def _next_word(self, m: Module, run: data.View, row: Signal, last: Value) -> None:
        """Addresses of the same row; behind the last word, of the next row."""
        m.d.sync += [
            self.a_address.eq(self.a_address + run.rows),
            self.b_address.eq(self.b_address + 1),
        ]
        with m.If(last):
            m.d.sync += [
                self.a_address.eq(run.a_first + row + 1),
                self.b_address.eq(run.b_first),
            ]

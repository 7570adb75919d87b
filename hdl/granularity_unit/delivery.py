"""Takes results where their run wants them."""

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from adagrain.hdl.stream.queue import Queue
from adagrain.hdl.tensor_input import Beat
from adagrain.models.interface.units.granularity_unit import (
    ROWS,
    Destination,
    TileResult,
    TileRun,
)

from .operands import check_slices, check_words, write_layout
from .results import RUNS

__all__ = ["Delivery", "delivery_layout"]


def delivery_layout(slices: int) -> data.StructLayout:
    """A run whose results are to come.

    Members
    -------
    rows, destination, to_first
        As those of the run.
    row_results : ``range(slices + 1)``
        Results of each row.
    """
    fields = {name: TileRun[name].shape for name in ("rows", "destination", "to_first")}
    return data.StructLayout({**fields, "row_results": range(slices + 1)})


class Delivery(wiring.Component):
    """Sends each run's results, row by row, to the link, out of the data port, or to the memory.

    A result per cycle, latency 0; out of the port they go in pairs, and the last beat of a run may
    hold one. Destinations do not overtake each other: a port that takes nothing makes the results
    behind wait.

    Parameters
    ----------
    slices : int
        Most results of a row.
    words : int
        Words of each operand memory.

    Members
    -------
    i_run : ``In(stream.Signature(delivery_layout(slices)))``
        Runs, in order; as many may wait as in :class:`Results`.
    i : ``In(stream.Signature(TileResult))``
        Results.
    o : ``Out(stream.Signature(TileResult))``
        Those for the link.
    o_data : ``Out(stream.Signature(Beat))``
        Those for the data port: word, flags, word, flags.
    o_words : ``Out(stream.Signature(write_layout(slices, words)))``
        Those for the memory of ``a``; always taken.
    settled : ``Out(1)``
        No run is under way.
    keeps : ``Out(1)``
        A run is under way whose results go to the memory.
    low, high : ``Out(range(words + 1))``
        They, and those of others since there was none, lie from the one to below the other.
    kept : ``Out(8)``
        Flags of all results that went there, until ``i_forget``.
    forget : ``In(1)``
        Begin with no flags anew.
    """

    def __init__(self, slices: int, words: int) -> None:
        check_slices(slices)
        check_words(words)
        self._slices, self._words = slices, words
        super().__init__(
            {
                "i_run": In(stream.Signature(delivery_layout(slices))),
                "i": In(stream.Signature(TileResult)),
                "o": Out(stream.Signature(TileResult)),
                "o_data": Out(stream.Signature(Beat)),
                "o_words": Out(stream.Signature(write_layout(slices, words))),
                "settled": Out(1, init=1),
                "keeps": Out(1),
                "low": Out(range(words + 1)),
                "high": Out(range(words + 1)),
                "kept": Out(8),
                "forget": In(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.runs = runs = Queue(delivery_layout(self._slices), RUNS)
        run, taken = runs.o.p, Signal()
        waits = self.i.valid & runs.o.valid
        is_last, at = self._place(m, run, taken)
        m.d.comb += [
            runs.i.payload.eq(self.i_run.payload),
            runs.i.valid.eq(self.i_run.valid),
            self.i_run.ready.eq(runs.i.ready),
            runs.o.ready.eq(taken & is_last),
            taken.eq(self.i.valid & self.i.ready),
            self.o.payload.eq(self.i.payload),
            self.o_words.p.address.eq(run.to_first + at),
            self.o_words.p.word.eq(self.i.p.word),
        ]
        with m.Switch(run.destination):
            with m.Case(Destination.PORT):
                self._pair(m, waits, is_last)
            with m.Case(Destination.MEMORY):
                m.d.comb += [self.o_words.valid.eq(waits), self.i.ready.eq(runs.o.valid)]
            with m.Default():
                m.d.comb += [
                    self.o.valid.eq(waits),
                    self.i.ready.eq(self.o.ready & runs.o.valid),
                ]
        self._watch(m, taken & is_last, self.o_words.valid)
        return m

    def _place(self, m: Module, run: data.View, taken: Value) -> tuple[Value, Signal]:
        """The result is its run's last one; and its place behind the run's first."""
        row, column = Signal(range(ROWS)), Signal(range(max(2, self._slices)))
        at = Signal(range(ROWS * self._slices + ROWS))
        ends = column == run.row_results - 1
        is_last = ends & (row == run.rows - 1)
        with m.If(taken):
            m.d.sync += [column.eq(column + 1), at.eq(at + run.rows)]
            with m.If(ends):
                m.d.sync += [column.eq(0), row.eq(row + 1), at.eq(row + 1)]
            with m.If(is_last):
                m.d.sync += [row.eq(0), at.eq(0)]
        return is_last, at

    def _pair(self, m: Module, waits: Value, is_last: Value) -> None:
        """Within the case of the port: two results in a beat, or the last one alone."""
        first, is_second = Signal(TileResult), Signal()
        own, beat = self.i.p, self.o_data.payload
        leaves = is_second | is_last
        alone = [own.word, own.flags, 0, 0]
        both = [first.word, first.flags, own.word, own.flags]
        m.d.comb += [
            *[word.eq(Mux(is_second, b, a)) for word, a, b in zip(beat, alone, both, strict=True)],
            self.o_data.valid.eq(waits & leaves),
            self.i.ready.eq(waits & (self.o_data.ready | ~leaves)),
        ]
        with m.If(self.i.valid & self.i.ready):
            m.d.sync += [first.eq(self.i.payload), is_second.eq(~leaves)]

    def _watch(self, m: Module, ends: Value, keeps_one: Value) -> None:
        """Follow the results under way, and what was raised."""
        begins = self.i_run.valid & self.i_run.ready
        to_memory = self.i_run.p.destination == Destination.MEMORY
        from_memory = ends & keeps_one
        under_way = Signal(range(RUNS + 2))
        keeping = Signal.like(under_way)
        m.d.sync += [
            under_way.eq(under_way + begins - ends),
            keeping.eq(keeping + (begins & to_memory) - from_memory),
        ]
        m.d.comb += [self.settled.eq(under_way == 0), self.keeps.eq(keeping != 0)]
        first = self.i_run.p.to_first
        end = Signal(range(2 * self._words))
        m.d.comb += end.eq(first + self.i_run.p.rows * self.i_run.p.row_results)
        with m.If(begins & to_memory):
            with m.If(~self.keeps | (first < self.low)):
                m.d.sync += self.low.eq(first)
            with m.If(~self.keeps | (end > self.high)):
                m.d.sync += self.high.eq(end)
        raised = Mux(keeps_one, self.i.p.flags, 0)
        m.d.sync += self.kept.eq(Mux(self.forget, 0, self.kept) | raised)

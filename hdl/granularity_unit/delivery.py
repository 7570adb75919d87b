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

    A result per cycle, latency 0, and a cycle between runs; out of the port they go in pairs, and
    the last beat of a run may hold one. Destinations do not overtake each other: a port that takes
    nothing makes the results behind wait.

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
        They, and those of others since there was none, lie from the one to below the other; known
        two cycles after a run was taken.
    kept : ``Out(8)``
        Flags of all results that went there, until ``forget``.
    forget : ``In(1)``
        Begin with no flags anew.

    Raises
    ------
    TypeError, ValueError
        If a parameter is not what it must be.
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
        run, busy, taken = Signal(delivery_layout(self._slices)), Signal(), Signal()
        waits = self.i.valid & busy
        is_last, at = self._place(m, run, runs.o.p, taken=taken, loads=runs.o.ready)
        m.d.comb += [
            runs.i.payload.eq(self.i_run.payload),
            runs.i.valid.eq(self.i_run.valid),
            self.i_run.ready.eq(runs.i.ready),
            runs.o.ready.eq(~busy),
            taken.eq(self.i.valid & self.i.ready),
            self.o.payload.eq(self.i.payload),
            self.o_words.p.address.eq(run.to_first + at),
            self.o_words.p.word.eq(self.i.p.word),
        ]
        with m.If(runs.o.ready):
            m.d.sync += [run.eq(runs.o.payload), busy.eq(runs.o.valid)]
        with m.Elif(taken & is_last):
            m.d.sync += busy.eq(0)
        with m.Switch(run.destination):
            with m.Case(Destination.PORT):
                self._pair(m, waits, is_last)
            with m.Case(Destination.MEMORY):
                m.d.comb += [self.o_words.valid.eq(waits), self.i.ready.eq(busy)]
            with m.Default():
                m.d.comb += [
                    self.o.valid.eq(waits),
                    self.i.ready.eq(self.o.ready & busy),
                ]
        self._watch(m, taken & is_last, self.o_words.valid)
        return m

    def _place(
        self, m: Module, run: data.View, following: data.View, *, taken: Value, loads: Value
    ) -> tuple[Value, Signal]:
        """The result is its run's last one; and its place behind the run's first.

        Both are told a cycle ahead: whether a result is taken hangs on the first.
        """
        row, left = Signal(range(ROWS)), Signal(range(max(2, self._slices)))
        at = Signal(range(ROWS * self._slices + ROWS))
        ends, in_last = Signal(), Signal()
        with m.If(loads):
            m.d.sync += [row.eq(0), at.eq(0), in_last.eq(following.rows == 1)]
        with m.Elif(taken & ends):
            m.d.sync += [row.eq(row + 1), at.eq(row + 1), in_last.eq(row + 2 == run.rows)]
        with m.Elif(taken):
            m.d.sync += at.eq(at + run.rows)
        row_results = Mux(loads, following.row_results, run.row_results)
        with m.If(loads | taken & ends):
            m.d.sync += [left.eq(row_results - 1), ends.eq(row_results == 1)]
        with m.Elif(taken):
            m.d.sync += [left.eq(left - 1), ends.eq(left == 1)]
        return ends & in_last, at

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
        begun, anew = Signal(), Signal()
        first, end = Signal(range(self._words)), Signal(range(2 * self._words))
        m.d.sync += [
            begun.eq(begins & to_memory),
            anew.eq(~self.keeps),
            first.eq(self.i_run.p.to_first),
            end.eq(self.i_run.p.to_first + self.i_run.p.rows * self.i_run.p.row_results),
        ]
        with m.If(begun & (anew | (first < self.low))):
            m.d.sync += self.low.eq(first)
        with m.If(begun & (anew | (end > self.high))):
            m.d.sync += self.high.eq(end)
        raised = Mux(keeps_one, self.i.p.flags, 0)
        m.d.sync += self.kept.eq(Mux(self.forget, 0, self.kept) | raised)

"""Requests to multiply what lies in the memories, and to scale what comes of it."""

from amaranth.hdl import Array, Cat, Module, Mux, Signal, signed, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from adagrain.hdl.checks import check_kind
from adagrain.hdl.handler.answer import Answer
from adagrain.hdl.handler.call import HandlerSignature
from adagrain.hdl.stream.records import Deserializer, Serializer
from adagrain.models.granularity_unit import MAX_SUM
from adagrain.models.interface.configuration import Configuration
from adagrain.models.interface.precision import Precision
from adagrain.models.interface.protocol import Status
from adagrain.models.interface.records import size
from adagrain.models.interface.units.granularity_unit import (
    ROWS,
    Destination,
    TileOpcode,
    TileResult,
    TileRun,
    TileSettled,
)

from .operands import check_slices
from .results import row_results

__all__ = ["RunCommands"]

#: Bodies of answers.
_RESULTS, _FLAGS = 1, 2

#: A sum that is under way, to which a run may add.
_Open = data.StructLayout(
    {"is_open": unsigned(1), "mode": unsigned(2), "rows": unsigned(4), "words": unsigned(16)}
)

#: A run against the memories and the sums that are under way; registered, since much hangs on it.
_Measured = data.StructLayout(
    {
        "inside": unsigned(1),  # the memories hold its words
        "placed": unsigned(1),  # its results have a place
        "same": unsigned(1),  # as the open sums
        "length": unsigned(17),  # words of its sums
        "pairs": unsigned(20),  # of words, of each slice
        "results": unsigned(16),
    }
)


class RunCommands(wiring.Component):
    """Handler of runs, exponents, and the wait for all results.

    A run that is not sound is refused, and changes nothing. One whose results do not go into its
    reply is answered when it has started; exponents wait until all results are where they belong.

    Parameters
    ----------
    configuration : Configuration
        What the device is built with.

    Members
    -------
    handler : ``Out(HandlerSignature())``
        Requests and replies.
    o : ``Out(stream.Signature(TileRun))``
        Runs.
    exponents : ``Out(signed(8)).array(slices)``
        Of each slice.
    i : ``In(stream.Signature(TileResult))``
        Results for replies.
    loads : ``In(1)``
        A pass that brings operands is under way: runs are refused as ``BUSY``.
    clears : ``In(1)``
        Operands are being cleared: runs wait.
    moves : ``In(1)``
        The unit gets on.
    settled : ``In(1)``
        No results are under way.
    kept : ``In(8)``
        Flags of results that have become operands.
    forget : ``Out(1)``
        They were told.
    tile_words : ``Out(32)``
        Pairs of words that each slice multiplies in the runs that were started since reset: all of
        a run's from its start on.

    Raises
    ------
    TypeError, ValueError
        If a parameter is not what it must be.
    """

    def __init__(self, configuration: Configuration) -> None:
        check_kind("configuration", configuration, Configuration)
        check_slices(configuration.slices)
        self._configuration = configuration
        slices = configuration.slices
        super().__init__(
            {
                "handler": Out(HandlerSignature()),
                "o": Out(stream.Signature(TileRun)),
                "exponents": Out(signed(8)).array(slices),
                "i": In(stream.Signature(TileResult)),
                "loads": In(1),
                "clears": In(1),
                "moves": In(1),
                "settled": In(1),
                "kept": In(8),
                "forget": Out(1),
                "tile_words": Out(32),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.reader = reader = Deserializer(size(TileRun))
        m.submodules.result = result = Serializer(size(TileResult))
        m.submodules.flags = flags = Serializer(size(TileSettled))
        m.submodules.answer = answer = Answer(2)
        connect(m, flipped(self.handler.i), reader.i)
        connect(m, flipped(self.i), result.i)
        connect(m, result.o, answer.i[_RESULTS - 1])
        connect(m, flags.o, answer.i[_FLAGS - 1])
        connect(m, answer.o, flipped(self.handler.o))
        call = self.handler.i_call
        left, run, under_way = Signal(16), Signal(TileRun), Signal(_Open)
        measured = Signal(_Measured)
        m.d.comb += [
            self.o.payload.eq(run),
            result.last.eq(left == 1),
            flags.i.payload.eq(self.kept),
        ]
        m.d.sync += self.handler.progress.eq(self.moves)

        with m.FSM():
            with m.State("IDLE"):
                m.d.comb += call.ready.eq(1)
                m.d.sync += left.eq(call.payload.length)
                with m.If(call.valid):
                    self._accept(m, answer)
            with m.State("RUN"):
                m.d.comb += reader.take(size(TileRun))
                m.d.sync += run.eq(reader.record(TileRun))
                with m.If(reader.taken):
                    m.next = "MEASURE"
            with m.State("MEASURE"):
                self._measure(m, run, under_way, measured)
                m.next = "PLACE"
            with m.State("PLACE"):
                self._place(m, run, measured)
                m.next = "CHECK"
            with m.State("CHECK"):
                self._check(m, answer, run, measured, under_way)
            with m.State("START"):
                m.d.comb += self.o.valid.eq(~self.clears)
                m.d.sync += left.eq(measured.results)
                with m.If(self.o.valid & self.o.ready):
                    m.d.sync += self.tile_words.eq(self.tile_words + measured.pairs)
                    m.d.comb += answer.give(Status.OK)
                    m.next = "IDLE"
                    with m.If(run.last & (run.destination == Destination.LINK)):
                        m.d.comb += answer.give(Status.OK, body=_RESULTS)
                        m.next = "RESULTS"
            with m.State("RESULTS"):
                with m.If(result.i.valid & result.i.ready):
                    m.d.sync += left.eq(left - 1)
                    with m.If(left == 1):
                        m.next = "IDLE"
            with m.State("SCALES"):
                with m.If(self.settled):
                    self._take_scale(m, reader, answer, left)
            with m.State("SETTLE"):
                with m.If(self.settled):
                    m.d.comb += answer.give(Status.OK, body=_FLAGS)
                    m.next = "FLAGS"
            with m.State("FLAGS"):
                m.d.comb += flags.i.valid.eq(1)
                with m.If(flags.i.ready):
                    m.d.comb += self.forget.eq(1)
                    m.next = "IDLE"
        return m

    def _accept(self, m: Module, answer: Answer) -> None:
        """The status that can be told before the payload."""
        call = self.handler.i_call.payload
        with m.Switch(call.opcode):
            with m.Case(TileOpcode.RUN):
                m.next = "RUN"
                with m.If(self.loads):
                    m.d.comb += answer.give(Status.BUSY)
                    m.next = "IDLE"
            with m.Case(TileOpcode.SCALES):
                m.next = "SCALES"
                with m.If(call.length != self._configuration.slices):
                    m.d.comb += answer.give(Status.BAD_LENGTH)
                    m.next = "IDLE"
            with m.Case(TileOpcode.SETTLE):
                m.next = "SETTLE"

    def _take_scale(self, m: Module, reader: Deserializer, answer: Answer, left: Signal) -> None:
        """The next slice's exponent."""
        m.d.comb += reader.take(1)
        with m.If(reader.taken):
            m.d.sync += [
                Cat(self.exponents).eq(Cat(*self.exponents[1:], reader.record(signed(8)))),
                left.eq(left - 1),
            ]
            with m.If(left == 1):
                m.d.comb += answer.give(Status.OK)
                m.next = "IDLE"

    def _measure(
        self, m: Module, run: data.View, under_way: data.View, measured: data.View
    ) -> None:
        """Needs of a run, and the sums that it goes on with, if any."""
        same = (under_way.mode == run.mode) & (under_way.rows == run.rows) & under_way.is_open
        m.d.sync += [
            measured.same.eq(same),
            measured.length.eq(run.words + Mux(run.first, 0, under_way.words)),
            measured.pairs.eq(run.words * run.rows),
            measured.results.eq(run.rows * row_results(run, self._configuration.slices)),
        ]

    def _place(self, m: Module, run: data.View, measured: data.View) -> None:
        """Register whether what was measured finds room."""
        operands = self._configuration.operands
        a_end, b_end = run.a_first + measured.pairs, run.b_first + run.words
        to_end = run.to_first + measured.results
        apart = (to_end <= run.a_first) | (a_end <= run.to_first)
        placed = (run.destination != Destination.MEMORY) | ((to_end <= operands) & apart)
        m.d.sync += [
            measured.inside.eq((a_end <= operands) & (b_end <= operands)),
            measured.placed.eq(run.destination.matches(*Destination) & (placed | ~run.last)),
        ]

    def _check(
        self,
        m: Module,
        answer: Answer,
        run: data.View,
        measured: data.View,
        under_way: data.View,
    ) -> None:
        """Start a sound run, and remember of which sums it is."""
        built = Array(precision in self._configuration.precisions for precision in Precision)
        outside = (run.rows == 0) | (run.rows > ROWS) | (run.words == 0) | ~measured.inside
        m.next = "IDLE"
        with m.If(~built[run.mode] | run.last & run.scaled & ~built[run.to]):
            m.d.comb += answer.give(Status.UNSUPPORTED)
        with m.Elif(outside | ~measured.placed):
            m.d.comb += answer.give(Status.BAD_VALUE)
        with m.Elif(~run.first & ~measured.same):
            m.d.comb += answer.give(Status.NO_SUM)
        with m.Elif((run.mode == Precision.FP16) & (measured.length > MAX_SUM)):
            m.d.comb += answer.give(Status.BAD_VALUE)
        with m.Else():
            m.d.sync += [
                under_way.is_open.eq(~run.last),
                under_way.mode.eq(run.mode),
                under_way.rows.eq(run.rows),
                under_way.words.eq(measured.length),
            ]
            m.next = "START"

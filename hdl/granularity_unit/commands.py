"""Requests for the granularity unit: write operands, multiply them, scale what comes of it."""

from amaranth.hdl import Array, Cat, Module, Mux, Signal, Value, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.wiring import Out

from adagrain.hdl.handler.call import HandlerSignature
from adagrain.hdl.handler.exchange import Exchange
from adagrain.hdl.stream.records import Deserializer, Serializer
from adagrain.models.granularity_unit import MAX_SUM, row_words
from adagrain.models.interface.configuration import Configuration
from adagrain.models.interface.precision import WORD, Precision
from adagrain.models.interface.protocol import Status
from adagrain.models.interface.records import size
from adagrain.models.interface.units.granularity_unit import ROWS, TileOpcode, TileResult, TileRun

from . import GranularityUnit

__all__ = ["TileCommands"]

_First = unsigned(16)

#: A sum that is under way, to which a run may add.
_Open = data.StructLayout(
    {"is_open": unsigned(1), "mode": unsigned(2), "rows": unsigned(4), "words": unsigned(16)}
)

#: A run against the memories and the sums that are under way; registered, since verdicts and much
#: else hang on it.
_Measured = data.StructLayout(
    {
        "inside": unsigned(1),  # the memories hold its words
        "same": unsigned(1),  # as the open sums
        "length": unsigned(17),  # words of its sums
        "pairs": unsigned(16),  # of words, of each slice; where the memories hold them
    }
)


class TileCommands(wiring.Component):
    """Handler of group 3, with the granularity unit.

    A run that is not sound is refused, and changes nothing. One that does not end its sums is
    answered before it has ended; words that are written then wait.

    Parameters
    ----------
    configuration : Configuration
        What the device is built with.

    Members
    -------
    handler : ``Out(HandlerSignature())``
        Requests and replies.
    tile_words : ``Out(32)``
        Pairs of words that each slice multiplies in the runs that were started since reset: all of
        a run's from its start on.
    """

    def __init__(self, configuration: Configuration) -> None:
        self._configuration = configuration
        super().__init__({"handler": Out(HandlerSignature()), "tile_words": Out(32)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        slices, operands = self._configuration.slices, self._configuration.operands
        m.submodules.unit = unit = GranularityUnit(slices, operands, self._configuration.precisions)
        m.submodules.octets = octets = Deserializer(size(TileRun))
        m.submodules.result = result = Serializer(size(TileResult))

        exchange = Exchange(m, self.handler, octets)
        call = self.handler.i_call
        gathered = octets.o.payload
        address, left = Signal(_First), Signal(range(self._configuration.payload + 1))
        run, under_way = Signal(TileRun), Signal(_Open)
        m.d.comb += [
            unit.i_words.p.address.eq(address),
            unit.i_words.p.word.eq(gathered[-WORD:]),
            unit.i.payload.eq(run),
            result.i.payload.eq(unit.o.payload),
        ]
        m.d.sync += self.handler.progress.eq(unit.multiplies)

        with m.FSM():
            with m.State("IDLE"):
                m.d.comb += call.ready.eq(1)
                with m.If(call.valid):
                    self._accept(m, exchange, left)
            with m.State("WRITE"):
                first = gathered[-_First.width :]
                m.d.sync += address.eq(first)
                with m.If(exchange.take(_First.width // 8)):
                    m.next = "WRITE_WORDS"
                    with m.If(first + left > (slices + 1) * operands):
                        exchange.reply(Status.BAD_VALUE)
            with m.State("WRITE_WORDS"):
                with m.If(exchange.feed(WORD // 8, unit.i_words)):
                    m.d.sync += [address.eq(address + 1), left.eq(left - 1)]
                    with m.If(left == 1):
                        exchange.reply(Status.OK)
            with m.State("RUN"):
                m.d.sync += run.eq(gathered)
                with m.If(exchange.take(size(TileRun))):
                    m.next = "MEASURE"
            with m.State("MEASURE"):
                measured = self._measure(m, run, under_way)
                m.next = "JUDGE"
            with m.State("JUDGE"):
                self._judge(m, exchange, run, measured, under_way)
            with m.State("SCALES"):
                with m.If(exchange.take(1)):
                    m.d.sync += [
                        Cat(unit.exponents).eq(Cat(*unit.exponents[1:], gathered[-8:])),
                        left.eq(left - 1),
                    ]
                    with m.If(left == 1):
                        exchange.reply(Status.OK)
            with m.State("START"):
                m.d.comb += unit.i.valid.eq(1)
                m.d.sync += left.eq(run.rows * self._row_results(run))
                with m.If(unit.i.ready):
                    m.d.sync += self.tile_words.eq(self.tile_words + measured.pairs)
                    m.next = "RESULT_STATUS"
                    with m.If(~run.last):
                        exchange.reply(Status.OK)
            with m.State("RESULT_STATUS"):
                exchange.answer_then("RESULT")
            with m.State("RESULT"):
                with m.If(exchange.send_from(unit.o, result, last=left == 1)):
                    m.d.sync += left.eq(left - 1)
                    with m.If(left == 1):
                        m.next = "IDLE"
            exchange.reply_state()
        return m

    def _accept(self, m: Module, exchange: Exchange, left: Signal) -> None:
        """What can be told before the payload; how many words follow."""
        length = self.handler.i_call.payload.length
        octets = length - _First.width // 8
        with m.Switch(self.handler.i_call.payload.opcode):
            with m.Case(TileOpcode.WRITE):
                m.d.sync += left.eq(octets // (WORD // 8))
                m.next = "WRITE"
            with m.Case(TileOpcode.RUN):
                m.next = "RUN"
            with m.Case(TileOpcode.SCALES):
                m.d.sync += left.eq(length)
                m.next = "SCALES"
                with m.If(length != self._configuration.slices):
                    exchange.reply(Status.BAD_LENGTH)

    def _row_results(self, run: data.View) -> Value:
        """Results of each row."""
        slices = self._configuration.slices
        packed = Array(row_words(slices, precision) for precision in Precision)[run.to]
        return Mux(run.scaled, packed, slices)

    def _measure(self, m: Module, run: data.View, under_way: data.View) -> data.View:
        """What a run needs, a cycle later."""
        measured, operands = Signal(_Measured), self._configuration.operands
        pairs = run.words * run.rows
        a_end, b_end = run.a_first + pairs, run.b_first + run.words
        same = (under_way.mode == run.mode) & (under_way.rows == run.rows) & under_way.is_open
        m.d.sync += [
            measured.inside.eq((a_end <= operands) & (b_end <= operands)),
            measured.same.eq(same),
            measured.length.eq(run.words + Mux(run.first, 0, under_way.words)),
            measured.pairs.eq(pairs),
        ]
        return measured

    def _judge(
        self,
        m: Module,
        exchange: Exchange,
        run: data.View,
        measured: data.View,
        under_way: data.View,
    ) -> None:
        """Start a sound run, and remember of which sums it is."""
        built = Array(precision in self._configuration.precisions for precision in Precision)
        with m.If(~built[run.mode] | run.last & run.scaled & ~built[run.to]):
            exchange.reply(Status.UNSUPPORTED)
        with m.Elif((run.rows == 0) | (run.rows > ROWS) | (run.words == 0) | ~measured.inside):
            exchange.reply(Status.BAD_VALUE)
        with m.Elif(~run.first & ~measured.same):
            exchange.reply(Status.NO_SUM)
        with m.Elif((run.mode == Precision.FP16) & (measured.length > MAX_SUM)):
            exchange.reply(Status.BAD_VALUE)
        with m.Else():
            m.d.sync += [
                under_way.is_open.eq(~run.last),
                under_way.mode.eq(run.mode),
                under_way.rows.eq(run.rows),
                under_way.words.eq(measured.length),
            ]
            m.next = "START"

"""Requests for ``statistics``: begin a pass, feed it, read its record and its histogram."""

from amaranth.hdl import Const, Module, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from adagrain.hdl.handler.call import HandlerSignature
from adagrain.hdl.handler.exchange import Exchange
from adagrain.hdl.stream.records import Deserializer, Serializer
from adagrain.models.interface.configuration import Configuration
from adagrain.models.interface.protocol import GROUP, Status
from adagrain.models.interface.records import size
from adagrain.models.interface.units.ranges import ByteRange
from adagrain.models.interface.units.statistics import (
    BINS,
    HistogramBin,
    StatisticsBegin,
    StatisticsOpcode,
    StatisticsRecord,
)

from .statistics_pass import Group, StatisticsPass

__all__ = ["StatisticsCommands"]


class StatisticsCommands(wiring.Component):
    """Handler of group 1, with the statistics unit.

    STATISTICS_END waits for the record; it gives the pass up as ``INCOMPLETE`` when groups of a
    pass from the link are missing, or when the data port starves. A new session gives an
    unfinished pass up too.

    Parameters
    ----------
    configuration : Configuration
        What the device is built with.
    starvation : int
        Cycles for which the data port may offer nothing while a pass needs data.

    Members
    -------
    handler : ``Out(HandlerSignature())``
        Requests and replies.
    i_data : ``In(stream.Signature(Group))``
        Data port: the tensor's memory in groups of 16 octets, zero-padded.
    elements : ``Out(64)``
        Elements of all finished passes.
    """

    def __init__(self, configuration: Configuration, *, starvation: int = 1 << 16) -> None:
        self._configuration = configuration
        self._starvation = starvation
        self._has_histogram = Const(configuration.histogram)
        super().__init__(
            {
                "handler": Out(HandlerSignature()),
                "i_data": In(stream.Signature(Group)),
                "elements": Out(64),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.octets = octets = Deserializer(GROUP)
        m.submodules.tensor = tensor = StatisticsPass(
            self._configuration, starvation=self._starvation
        )
        m.submodules.record = record = Serializer(size(StatisticsRecord))
        m.submodules.bin = bin_record = Serializer(size(HistogramBin))
        connect(m, flipped(self.i_data), tensor.i_data)
        m.d.comb += self.handler.progress.eq(tensor.i_data.valid & tensor.i_data.ready)

        exchange = Exchange(m, self.handler, octets)
        call = self.handler.i_call
        begin = data.View(StatisticsBegin, octets.o.payload[-StatisticsBegin.size :])
        wanted = data.View(ByteRange, octets.o.payload[-ByteRange.size :])
        left = Signal(range(self._configuration.payload + 1))
        asked = Signal(range(BINS))
        has_histogram = Signal()
        histogram_valid = Signal()

        m.d.comb += [
            tensor.i_begin.payload.eq(begin),
            tensor.i_link.payload.eq(octets.o.payload),
            record.i.payload.eq(tensor.o.payload),
            tensor.i_bin.payload.eq(asked),
            bin_record.i.payload.eq(tensor.o_bin.payload),
        ]

        with m.FSM():
            with m.State("IDLE"):
                m.d.comb += call.ready.eq(1)
                m.d.sync += left.eq(call.payload.length)
                with m.If(self.handler.hello & tensor.active):
                    m.next = "ABANDON"
                with m.Elif(call.valid):
                    self._accept(m, exchange, tensor)
            with m.State("BEGIN"):
                with m.If(exchange.take(size(StatisticsBegin))):
                    self._check_begin(m, exchange, begin)
            with m.State("START"):  # the record stands until another octet is gathered
                m.d.comb += tensor.i_begin.valid.eq(1)
                with m.If(tensor.i_begin.ready):
                    m.d.sync += has_histogram.eq(begin.histogram)
                    with m.If(begin.histogram):
                        m.d.sync += histogram_valid.eq(0)
                    exchange.reply(Status.OK)
            with m.State("DATA"):
                with m.If(exchange.feed(GROUP, tensor.i_link)):
                    m.d.sync += left.eq(left - GROUP)
                    with m.If(left == GROUP):
                        exchange.reply(Status.OK)
            with m.State("END"):
                with m.If(tensor.o.valid):
                    m.next = "RECORD_STATUS"
                with m.Elif(tensor.starved | (tensor.from_link & (tensor.missing != 0))):
                    m.next = "GIVE_UP"
            with m.State("GIVE_UP"):
                m.d.comb += tensor.stop.eq(1)
                with m.If(~tensor.active):
                    exchange.reply(Status.INCOMPLETE)
            with m.State("ABANDON"):
                m.d.comb += tensor.stop.eq(1)
                with m.If(~tensor.active):
                    m.next = "IDLE"
            with m.State("RECORD_STATUS"):
                exchange.answer_then("RECORD")
            with m.State("RECORD"):
                with m.If(exchange.send_from(tensor.o, record, last=1)):
                    m.d.sync += self.elements.eq(self.elements + tensor.o.payload.count)
                    with m.If(has_histogram):
                        m.d.sync += histogram_valid.eq(1)
                    m.next = "IDLE"
            with m.State("RANGE"):
                m.d.sync += [asked.eq(wanted.first), left.eq(wanted.count)]
                with m.If(exchange.take(size(ByteRange))):
                    self._check_range(m, exchange, wanted, tensor, histogram_valid)
            with m.State("BINS_STATUS"):
                exchange.answer_then("ASK_BIN")
            with m.State("ASK_BIN"):
                m.d.comb += tensor.i_bin.valid.eq(1)
                with m.If(tensor.i_bin.ready):
                    m.next = "BIN"
            with m.State("BIN"):
                with m.If(exchange.send_from(tensor.o_bin, bin_record, last=left == 1)):
                    m.d.sync += [asked.eq(asked + 1), left.eq(left - 1)]
                    m.next = "ASK_BIN"
                    with m.If(left == 1):
                        m.next = "IDLE"
            exchange.reply_state()
        return m

    def _accept(self, m: Module, exchange: Exchange, tensor: StatisticsPass) -> None:
        """What can be told before the payload."""
        length = self.handler.i_call.payload.length
        with m.Switch(self.handler.i_call.payload.opcode):
            with m.Case(StatisticsOpcode.BEGIN):
                m.next = "BEGIN"
                with m.If(tensor.active):
                    exchange.reply(Status.BUSY)
            with m.Case(StatisticsOpcode.DATA):
                room = tensor.from_link & (length // GROUP <= tensor.missing)
                m.next = "DATA"
                with m.If(~tensor.active):
                    exchange.reply(Status.NOT_STARTED)
                with m.Elif(~room):
                    exchange.reply(Status.OVERFLOW)
            with m.Case(StatisticsOpcode.END):
                m.next = "END"
                with m.If(~tensor.active):
                    exchange.reply(Status.NOT_STARTED)
            with m.Case(StatisticsOpcode.HISTOGRAM):
                m.next = "RANGE"
                with m.If(~self._has_histogram):
                    exchange.reply(Status.UNSUPPORTED)

    def _check_begin(self, m: Module, exchange: Exchange, begin: data.View) -> None:
        built = sum(begin.format == code for code in self._configuration.formats)
        m.next = "START"
        with m.If((built == 0) | (begin.histogram & ~self._has_histogram)):
            exchange.reply(Status.UNSUPPORTED)
        with m.Elif((begin.count == 0) | (begin.exponent == 0) | (begin.exponent == 255)):
            exchange.reply(Status.BAD_VALUE)

    def _check_range(
        self,
        m: Module,
        exchange: Exchange,
        wanted: data.View,
        tensor: StatisticsPass,
        valid: Signal,
    ) -> None:
        most = min(BINS, self._configuration.payload // size(HistogramBin))
        too_many = (wanted.count > most) | (wanted.first + wanted.count > BINS)
        m.next = "BINS_STATUS"
        with m.If((wanted.count == 0) | too_many):
            exchange.reply(Status.BAD_VALUE)
        with m.Elif(tensor.active):
            exchange.reply(Status.BUSY)
        with m.Elif(~valid):
            exchange.reply(Status.NO_HISTOGRAM)

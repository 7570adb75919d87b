"""Requests for bins of the histogram."""

from amaranth.hdl import Const, Module, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from adagrain.hdl.checks import check_kind
from adagrain.hdl.handler.call import HandlerSignature
from adagrain.hdl.handler.exchange import Exchange
from adagrain.hdl.stream.records import Deserializer, Serializer
from adagrain.models.interface.configuration import Configuration
from adagrain.models.interface.protocol import Status
from adagrain.models.interface.records import size
from adagrain.models.interface.units.ranges import ByteRange
from adagrain.models.interface.units.statistics import BINS, HistogramBin

__all__ = ["HistogramCommands"]


class HistogramCommands(wiring.Component):
    """Handler of the request that reads bins.

    Parameters
    ----------
    configuration : Configuration
        What the device is built with.

    Members
    -------
    handler : ``Out(HandlerSignature())``
        Requests and replies.
    busy : ``In(1)``
        A pass is under way: nothing can be read.
    is_there : ``In(1)``
        There is a histogram: of the last pass that had one.
    o_bin : ``Out(stream.Signature(range(64)))``, i_bin : ``In(stream.Signature(HistogramBin))``
        Number of a bin, and the bin.

    Raises
    ------
    TypeError, ValueError
        If a parameter is not what it must be.
    """

    def __init__(self, configuration: Configuration) -> None:
        check_kind("configuration", configuration, Configuration)
        self._most = min(BINS, configuration.payload // size(HistogramBin))
        self._is_built = Const(configuration.histogram)
        super().__init__(
            {
                "handler": Out(HandlerSignature()),
                "busy": In(1),
                "is_there": In(1),
                "o_bin": Out(stream.Signature(range(BINS))),
                "i_bin": In(stream.Signature(HistogramBin)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.reader = reader = Deserializer(size(ByteRange))
        m.submodules.record = record = Serializer(size(HistogramBin))
        exchange = Exchange(m, self.handler, reader)
        wanted = data.View(ByteRange, reader.o.payload)
        asked, left = Signal(range(BINS)), Signal(range(BINS + 1))
        m.d.comb += [
            self.o_bin.payload.eq(asked),
            record.i.payload.eq(self.i_bin.payload),
        ]
        with m.FSM():
            with m.State("IDLE"):
                m.d.comb += self.handler.i_call.ready.eq(1)
                with m.If(self.handler.i_call.valid):
                    m.next = "RANGE"
                    with m.If(~self._is_built):
                        exchange.reply(Status.UNSUPPORTED)
            with m.State("RANGE"):
                m.d.sync += [asked.eq(wanted.first), left.eq(wanted.count)]
                with m.If(exchange.take(size(ByteRange))):
                    self._check(m, exchange, wanted)
            with m.State("STATUS"):
                exchange.answer_then("ASK")
            with m.State("ASK"):
                m.d.comb += self.o_bin.valid.eq(1)
                with m.If(self.o_bin.ready):
                    m.next = "BIN"
            with m.State("BIN"):
                with m.If(exchange.send_from(self.i_bin, record, last=left == 1)):
                    m.d.sync += [asked.eq(asked + 1), left.eq(left - 1)]
                    m.next = "ASK"
                    with m.If(left == 1):
                        m.next = "IDLE"
            exchange.reply_state()
        return m

    def _check(self, m: Module, exchange: Exchange, wanted: data.View) -> None:
        too_many = (wanted.count > self._most) | (wanted.first + wanted.count > BINS)
        m.next = "STATUS"
        with m.If((wanted.count == 0) | too_many):
            exchange.reply(Status.BAD_VALUE)
        with m.Elif(self.busy):
            exchange.reply(Status.BUSY)
        with m.Elif(~self.is_there):
            exchange.reply(Status.NO_HISTOGRAM)

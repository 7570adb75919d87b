"""Requests for bins of the histogram."""

from amaranth.hdl import Const, Module, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from adagrain.hdl.checks import check_kind
from adagrain.hdl.handler.answer import Answer
from adagrain.hdl.handler.call import HandlerSignature
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
        m.submodules.answer = answer = Answer(1)
        connect(m, flipped(self.handler.i), reader.i)
        connect(m, flipped(self.i_bin), record.i)
        connect(m, record.o, answer.i[0])
        connect(m, answer.o, flipped(self.handler.o))
        wanted = reader.record(ByteRange)
        asked, left = Signal(range(BINS)), Signal(range(BINS + 1))
        m.d.comb += [self.o_bin.payload.eq(asked), record.last.eq(left == 1)]
        with m.FSM():
            with m.State("IDLE"):
                m.d.comb += self.handler.i_call.ready.eq(1)
                with m.If(self.handler.i_call.valid):
                    m.next = "RANGE"
                    with m.If(~self._is_built):
                        m.d.comb += answer.give(Status.UNSUPPORTED)
                        m.next = "IDLE"
            with m.State("RANGE"):
                m.d.comb += reader.take(size(ByteRange))
                m.d.sync += [asked.eq(wanted.first), left.eq(wanted.count)]
                with m.If(reader.taken):
                    self._check(m, answer, wanted)
            with m.State("ASK"):
                m.d.comb += self.o_bin.valid.eq(1)
                with m.If(self.o_bin.ready):
                    m.next = "BIN"
            with m.State("BIN"):
                with m.If(record.i.valid & record.i.ready):
                    m.d.sync += [asked.eq(asked + 1), left.eq(left - 1)]
                    m.next = "ASK"
                    with m.If(left == 1):
                        m.next = "IDLE"
        return m

    def _check(self, m: Module, answer: Answer, wanted: data.View) -> None:
        too_many = (wanted.count > self._most) | (wanted.first + wanted.count > BINS)
        m.next = "IDLE"
        with m.If((wanted.count == 0) | too_many):
            m.d.comb += answer.give(Status.BAD_VALUE)
        with m.Elif(self.busy):
            m.d.comb += answer.give(Status.BUSY)
        with m.Elif(~self.is_there):
            m.d.comb += answer.give(Status.NO_HISTOGRAM)
        with m.Else():
            m.d.comb += answer.give(Status.OK, body=1)
            m.next = "ASK"

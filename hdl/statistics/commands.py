"""Requests for ``statistics``: passes over tensors, and the histogram of the last one."""

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import Out, connect, flipped

from adagrain.hdl.checks import check_kind
from adagrain.hdl.handler.call import HandlerSignature
from adagrain.hdl.handler.choice import Choice
from adagrain.hdl.tensor_input import TensorPort
from adagrain.hdl.tensor_input.tensor_pass import TensorPass
from adagrain.models.interface.configuration import Configuration
from adagrain.models.interface.protocol import Status
from adagrain.models.interface.units.statistics import STATISTICS, StatisticsOpcode

from .histogram_commands import HistogramCommands
from .statistics import Statistics

__all__ = ["StatisticsCommands"]


class StatisticsCommands(wiring.Component):
    """Handler of group 1, with the statistics unit.

    Parameters
    ----------
    configuration : Configuration
        What the device is built with.

    Members
    -------
    handler : ``Out(HandlerSignature())``
        Requests and replies.
    tensor : ``Out(TensorPort(lanes))``
        The tensor input.
    elements : ``Out(64)``
        Elements of all passes that have ended.

    Raises
    ------
    TypeError, ValueError
        If a parameter is not what it must be.
    """

    def __init__(self, configuration: Configuration) -> None:
        check_kind("configuration", configuration, Configuration)
        self._configuration = configuration
        self._choice = Choice([STATISTICS.passes or (), (StatisticsOpcode.HISTOGRAM,)])
        super().__init__(
            {
                "handler": Out(HandlerSignature()),
                "tensor": Out(TensorPort(configuration.lanes)),
                "elements": Out(64),
            }
        )

    @property
    def opcodes(self) -> tuple[int, ...]:
        """Those of its operations."""
        return self._choice.opcodes

    def elaborate(self, platform: object) -> Module:
        m = Module()
        built = self._configuration
        m.submodules.choice = choice = self._choice
        m.submodules.tensor_pass = tensor_pass = TensorPass(built, STATISTICS)
        m.submodules.bins = bins = HistogramCommands(built)
        m.submodules.unit = unit = Statistics(
            built.lanes, powers=built.powers, histogram=built.histogram
        )
        connect(m, choice.handler, flipped(self.handler))
        connect(m, choice.inner[0], tensor_pass.handler)
        connect(m, choice.inner[1], bins.handler)
        connect(m, tensor_pass.tensor, flipped(self.tensor))
        connect(m, tensor_pass.o_begin, unit.i_begin)
        connect(m, tensor_pass.o, unit.i)
        connect(m, unit.o, tensor_pass.i)
        connect(m, bins.o_bin, unit.i_bin)
        connect(m, unit.o_bin, bins.i_bin)
        self._judge(m, tensor_pass)

        with_histogram, is_there = Signal(), Signal()
        m.d.comb += [
            choice.hold.eq(tensor_pass.abandons),
            bins.busy.eq(tensor_pass.active),
            bins.is_there.eq(is_there),
        ]
        with m.If(tensor_pass.o_begin.valid & tensor_pass.o_begin.ready):
            m.d.sync += with_histogram.eq(tensor_pass.o_begin.payload.histogram)
            with m.If(tensor_pass.o_begin.payload.histogram):
                m.d.sync += is_there.eq(0)
        with m.If(tensor_pass.ended):
            m.d.sync += self.elements.eq(self.elements + unit.o.payload.count)
            with m.If(with_histogram):
                m.d.sync += is_there.eq(1)
        return m

    def _judge(self, m: Module, tensor_pass: TensorPass) -> None:
        """Refuse what the unit cannot do."""
        begin = tensor_pass.o_begin.payload
        if not self._configuration.histogram:
            with m.If(begin.histogram):
                m.d.comb += tensor_pass.refusal.eq(Status.UNSUPPORTED)
        with m.If((begin.exponent == 0) | (begin.exponent == 255)):
            m.d.comb += tensor_pass.refusal.eq(Status.BAD_VALUE)

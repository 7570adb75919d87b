"""The whole device: link, commands and units behind two octet streams and a data port."""

from amaranth.hdl import Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from adagrain.models.commands import absent_groups, identity
from adagrain.models.configuration import Configuration
from adagrain.models.protocol import REGISTERS, Unit

from .commands import (
    Dispatcher,
    PrecisionCommands,
    RegionCommands,
    StatisticsCommands,
    SystemCommands,
    TileCommands,
)
from .link import Link
from .statistics_pass import Group
from .uart import LineCounters

__all__ = ["Coprocessor"]


class Coprocessor(wiring.Component):
    """Top level, the same in simulation and on boards.

    A board connects the octet streams to its UART and leaves the data port idle: tensors then
    come in frames. Requests are executed one after the other, in the order of their
    sequence numbers; see ``docs/link.md`` for what travels.

    Parameters
    ----------
    configuration : Configuration
        What is built.
    starvation : int
        Cycles for which the data port may offer nothing while a pass needs data.

    Members
    -------
    i, o : octet streams
        The link.
    i_data : ``In(stream.Signature(Group))``
        Data port, 128 bits per cycle at most.
    line : ``In(LineCounters)``
        What went wrong on the serial line, where there is one.
    """

    def __init__(self, configuration: Configuration, *, starvation: int = 1 << 16) -> None:
        self._configuration = configuration
        self._starvation = starvation
        super().__init__(
            {
                "i": In(stream.Signature(8)),
                "o": Out(stream.Signature(8)),
                "i_data": In(stream.Signature(Group)),
                "line": In(LineCounters),
            }
        )

    @property
    def configuration(self) -> Configuration:
        return self._configuration

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.link = link = Link(self._configuration)
        m.submodules.system = system = SystemCommands(self._configuration)
        m.submodules.statistics = statistics = StatisticsCommands(
            self._configuration, starvation=self._starvation
        )
        handlers = [system.handler, statistics.handler]
        counted = {}
        if Unit.REGION_MANAGER in self._configuration.units:
            m.submodules.regions = regions = RegionCommands(self._configuration)
            handlers.append(regions.handler)
            counted = {
                "decisions": regions.decisions,
                "decision_cycles": regions.decision_cycles,
            }
        if self._configuration.slices:
            m.submodules.tiles = tiles = TileCommands(self._configuration)
            m.submodules.precisions = precisions = PrecisionCommands(self._configuration)
            handlers += [tiles.handler, precisions.handler]
            counted["tile_words"] = tiles.tile_words
        m.submodules.dispatcher = dispatcher = Dispatcher(
            len(handlers), absent=absent_groups(self._configuration)
        )

        connect(m, flipped(self.i), link.i)
        connect(m, link.o, flipped(self.o))
        connect(m, link.o_request, dispatcher.i)
        connect(m, dispatcher.o, link.i_reply)
        for port, handler in zip(dispatcher.handler, handlers, strict=True):
            connect(m, port, handler)
        connect(m, flipped(self.i_data), statistics.i_data)
        m.d.comb += [
            dispatcher.length.eq(link.request_length),
            statistics.hello.eq(system.hello),
        ]

        cycles = Signal(64)
        m.d.sync += cycles.eq(cycles + 1)
        values = {name: link.counters[name] for name, _ in link.counters.shape()} | {
            "cycles_low": cycles[:32],
            "cycles_high": cycles[32:],
            "elements_low": statistics.elements[:32],
            "elements_high": statistics.elements[32:],
        }
        values |= {name: self.line[name] for name, _ in LineCounters}
        values |= identity(self._configuration) | counted
        for name, register in REGISTERS.items():
            m.d.comb += system.registers[register.address].eq(values.get(name, 0))
        return m

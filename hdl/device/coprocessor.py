"""The whole device: link, commands and units behind two octet streams and a data port."""

from amaranth.hdl import Module, ResetInserter, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from adagrain.hdl.link import Link
from adagrain.hdl.statistics.statistics_pass import Group
from adagrain.hdl.uart import LineCounters
from adagrain.models.device.commands import absent_groups, identity
from adagrain.models.interface.configuration import LONGEST_SILENCE, Configuration
from adagrain.models.interface.protocol import REGISTERS

from .dispatcher import Dispatcher
from .handlers import handlers

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

    Raises
    ------
    ValueError
        If the watchdog would not let a pass starve.
    """

    def __init__(self, configuration: Configuration, *, starvation: int = 1 << 16) -> None:
        most = configuration.watchdog - LONGEST_SILENCE
        if not 1 <= starvation <= most:
            raise ValueError(
                f"starvation must be from 1 to {most} with this watchdog, not {starvation!r}"
            )
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
        built = handlers(self._configuration, starvation=self._starvation)
        system, statistics = built["system"], built["statistics"]
        m.submodules.dispatcher = dispatcher = Dispatcher(
            len(built),
            absent=absent_groups(self._configuration),
            watchdog=self._configuration.watchdog,
        )
        for number, (name, handler) in enumerate(built.items()):
            m.submodules[name] = ResetInserter(dispatcher.reset[number])(handler)
            self._attach(m, name, dispatcher.handler[number], handler.handler)

        connect(m, flipped(self.i), link.i)
        connect(m, link.o, flipped(self.o))
        connect(m, link.o_request, dispatcher.i)
        connect(m, dispatcher.o, link.i_reply)
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
            "unit_resets": dispatcher.resets,
        }
        for handler in built.values():
            for name in ("decisions", "decision_cycles", "tile_words"):
                if name in handler.signature.members:
                    values[name] = getattr(handler, name)
        values |= {name: self.line[name] for name, _ in LineCounters}
        values |= identity(self._configuration)
        for name, register in REGISTERS.items():
            m.d.comb += system.registers[register.address].eq(values.get(name, 0))
        return m

    def _attach(
        self, m: Module, name: str, port: wiring.PureInterface, handler: wiring.PureInterface
    ) -> None:
        """Join a port of the dispatcher and the handler of that name."""
        connect(m, port, handler)

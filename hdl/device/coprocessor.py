"""The whole device: link, commands and units behind two byte streams and a data port."""

from collections.abc import Mapping, Sequence

from amaranth.hdl import (
    Cat,
    Const,
    Elaboratable,
    Fragment,
    Module,
    Mux,
    ResetInserter,
    Signal,
    Value,
    ValueLike,
)
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from adagrain.hdl.checks import check_integer, check_kind
from adagrain.hdl.handler.driven import elaborated
from adagrain.hdl.link import Link
from adagrain.hdl.tensor_input import Beat
from adagrain.hdl.uart import LineCounters
from adagrain.models.interface.configuration import Configuration
from adagrain.models.interface.units import SYSTEM, TENSOR_INPUT, Unit

from .dispatcher import Dispatcher
from .handlers import handlers

__all__ = ["Coprocessor"]

_RESULTS = {"o_data": Out(stream.Signature(Beat))}


class Coprocessor(wiring.Component):
    """Top level, the same in simulation and on boards.

    A board connects the byte streams to its UART and leaves the data port idle: tensors then
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
    i, o : byte streams
        The link.
    i_data : ``In(stream.Signature(Beat))``
        Data port, 128 bits per cycle at most.
    o_data : ``Out(stream.Signature(Beat))``
        What units send out of the data port, where one that does is built.
    line : ``In(LineCounters)``
        What went wrong on the serial line, where there is one.
    restart : ``In(1)``
        Resets everything, two cycles later: through a register for each part, since one signal
        would be slow to reach them all.

    Raises
    ------
    TypeError, ValueError
        If the watchdog would not let a pass starve.
    """

    def __init__(self, configuration: Configuration, *, starvation: int = 1 << 16) -> None:
        check_kind("configuration", configuration, Configuration)
        most = configuration.watchdog - configuration.longest_silence
        check_integer("starvation", starvation, 1, most)
        self._configuration = configuration
        self._starvation = starvation
        super().__init__(
            {
                "i": In(stream.Signature(8)),
                "o": Out(stream.Signature(8)),
                "i_data": In(stream.Signature(Beat)),
                "line": In(LineCounters),
                "restart": In(1),
                **(_RESULTS if any(unit.sends for unit in configuration.built()) else {}),
            }
        )

    @property
    def configuration(self) -> Configuration:
        return self._configuration

    @property
    def starvation(self) -> int:
        return self._starvation

    def elaborate(self, platform: object) -> Module:
        m = Module()
        built = handlers(self._configuration, starvation=self._starvation)
        link = Link(self._configuration)
        dispatcher = Dispatcher(tuple(built), watchdog=self._configuration.watchdog)
        self._add(m, "link", link, self.restart)
        self._add(m, "dispatcher", dispatcher, self.restart)
        for number, (unit, handler) in enumerate(built.items()):
            reset = self._reset(dispatcher, number, list(built))
            self._add(m, unit.name, elaborated(handler, unit, platform), self.restart | reset)
            self._attach(m, unit.name, dispatcher.handler[number], handler.handler)
            m.d.comb += dispatcher.handler[number].hello.eq(built[SYSTEM].hello)

        connect(m, flipped(self.i), link.i)
        connect(m, link.o, flipped(self.o))
        connect(m, link.o_request, dispatcher.i)
        connect(m, dispatcher.o, link.i_reply)
        connect(m, flipped(self.i_data), built[TENSOR_INPUT].i_data)
        if senders := [handler for unit, handler in built.items() if unit.sends]:
            self._share_port(m, senders)
            m.d.comb += dispatcher.sends.eq(self.o_data.valid & self.o_data.ready)
        users = (handler for unit, handler in built.items() if unit.tensors)
        for port, handler in zip(built[TENSOR_INPUT].user, users, strict=True):
            connect(m, port, handler.tensor)
        m.d.comb += dispatcher.length.eq(link.request_length)
        self._drive_registers(m, link, dispatcher, built)
        return m

    def _share_port(self, m: Module, handlers: Sequence[wiring.Component]) -> None:
        """Let units send one after the other: first those whose results follow their requests.

        Others send within a request.
        """
        free: Value = Const(1)
        for handler in handlers:
            source = handler.o_data
            m.d.comb += source.ready.eq(self.o_data.ready & free)
            with m.If(source.valid & free):
                m.d.comb += [self.o_data.valid.eq(1), self.o_data.payload.eq(source.payload)]
            free = free & ~source.valid & getattr(handler, "settled", Const(1))

    def _add(self, m: Module, name: str, part: Elaboratable | Fragment, reset: Value) -> None:
        """A part with a register for its reset."""
        registered = Signal(name=f"{name}_reset")
        m.d.sync += registered.eq(reset)
        m.submodules[name] = ResetInserter(registered)(part)

    def _reset(self, dispatcher: Dispatcher, number: int, units: list[Unit]) -> Value:
        """Reset of a handler: of those that share a tensor, together."""
        shared = [n for n, unit in enumerate(units) if unit.tensors or unit is TENSOR_INPUT]
        together = shared if number in shared else [number]
        return Cat(dispatcher.reset[other] for other in together).any()

    def _drive_registers(
        self,
        m: Module,
        link: Link,
        dispatcher: Dispatcher,
        built: Mapping[Unit, wiring.Component],
    ) -> None:
        """Give each register of what was built its value; those of other units stay 0.

        Raises
        ------
        ValueError
            If there is a register that nothing drives.
        """
        cycles = Signal(64)
        m.d.sync += cycles.eq(Mux(self.restart, 0, cycles + 1))
        values: dict[str, ValueLike] = {"cycles": cycles, "unit_resets": dispatcher.resets}
        values |= {name: link.counters[name] for name, _ in link.counters.shape()}
        values |= {name: self.line[name] for name, _ in LineCounters}
        values |= self._configuration.constants()
        for unit in self._configuration.built():
            for register in unit.registers:
                name = register.name
                value = values.get(name, getattr(built.get(unit), name, None))
                if value is None:
                    raise ValueError(f"register {name!r} of unit {unit.name!r} must be driven")
                m.d.comb += built[SYSTEM].registers[name].eq(value)

    def _attach(
        self, m: Module, name: str, port: wiring.PureInterface, handler: wiring.PureInterface
    ) -> None:
        """Join a port of the dispatcher and the handler of that name."""
        connect(m, port, handler)

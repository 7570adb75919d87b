"""The whole device behind the two wires of a serial line."""

from amaranth.hdl import Module, Mux, ResetInserter, Signal, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.cdc import FFSynchronizer
from amaranth.lib.wiring import In, Out, connect

from adagrain.hdl.checks import check_kind
from adagrain.hdl.uart import Receiver, Transmitter
from adagrain.hdl.uart.rate import step_per_cycle
from adagrain.models.interface.configuration import Configuration

from .coprocessor import Coprocessor

__all__ = ["Leds", "SerialCoprocessor"]

#: What a board's LEDs show.
Leds = data.StructLayout(
    {
        "life": unsigned(1),  # blinks once a second
        "link": unsigned(1),  # bytes come or go
        "error": unsigned(1),  # the line brought something wrong, or a break
    }
)

#: How long an event stays visible at most, in eighths of a second.
_VISIBLE = 2


class SerialCoprocessor(wiring.Component):
    """The design of a board, down to its pins; the same in simulation.

    A break resets everything but the receiver that notices it, and this holds as long as the
    break lasts; that is how a host gets out of whatever state it finds. Behind a break of just 20
    bit times, or a ``restart`` of a single cycle, a byte of what was under way may still be sent,
    without a delimiter; longer ones leave nothing. The data port
    is left idle: tensors come in frames, and a pass that asks for the port is ``INCOMPLETE``; what
    a unit sends out of it is lost.

    Parameters
    ----------
    configuration : Configuration
        What is built.
    clock : float
        Clock cycles per second.
    baud : float
        Bits per second of the line.

    Members
    -------
    rx : ``In(1)``
        From the host, asynchronous; high when idle.
    tx : ``Out(1)``
        To the host.
    leds : ``Out(Leds)``
        For people.
    restart : ``In(1)``
        Resets everything, as does a break on the line; low where the clock domain has a reset.

    Raises
    ------
    TypeError, ValueError
        If a parameter is not what it must be.
    """

    def __init__(self, configuration: Configuration, *, clock: float, baud: float) -> None:
        check_kind("configuration", configuration, Configuration)
        step_per_cycle(clock, baud)  # refuses what no line can be
        self._configuration = configuration
        self._clock = clock
        self._baud = baud
        super().__init__(
            {"rx": In(1, init=1), "tx": Out(1, init=1), "leds": Out(Leds), "restart": In(1)}
        )

    @property
    def configuration(self) -> Configuration:
        """The device's configuration."""
        return self._configuration

    def elaborate(self, platform: object) -> Module:
        m = Module()
        receiver = Receiver(self._clock, self._baud)
        m.submodules.receiver = ResetInserter(self.restart)(receiver)
        m.submodules.synchronizer = FFSynchronizer(self.rx, receiver.rx, init=1)
        restart = Signal()
        m.d.sync += restart.eq(receiver.is_break | self.restart)
        m.submodules.coprocessor = coprocessor = Coprocessor(self._configuration, starvation=1)
        transmitter = Transmitter(self._clock, self._baud)
        m.submodules.transmitter = ResetInserter(restart)(transmitter)
        m.d.comb += coprocessor.restart.eq(restart)

        connect(m, receiver.o, coprocessor.i)
        connect(m, coprocessor.o, transmitter.i)
        if "o_data" in coprocessor.signature.members:
            m.d.comb += coprocessor.o_data.ready.eq(1)
        m.d.comb += [coprocessor.line.eq(receiver.counters), self.tx.eq(transmitter.tx)]
        self._blink(m, active=~receiver.rx | ~self.tx, errs=receiver.fails)
        return m

    def _blink(self, m: Module, *, active: Signal, errs: Signal) -> None:
        """Stretch events until people can see them."""
        eighth = round(self._clock / 8)
        cycle = Signal(range(eighth))
        passes = cycle == eighth - 1
        eighths = Signal(3)
        m.d.sync += [cycle.eq(Mux(passes, 0, cycle + 1)), eighths.eq(eighths + passes)]
        m.d.comb += self.leds.life.eq(eighths < 4)
        for led, event in ((self.leds.link, active), (self.leds.error, errs)):
            left = Signal(range(_VISIBLE + 1))
            m.d.comb += led.eq(left != 0)
            with m.If(event):
                m.d.sync += left.eq(_VISIBLE)
            with m.Elif(passes & led):
                m.d.sync += left.eq(left - 1)

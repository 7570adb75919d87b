"""A device and the USB adapter at the other end of its serial line."""

from amaranth.hdl import Module
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from adagrain.hdl.device.serial_coprocessor import SerialCoprocessor
from adagrain.hdl.uart import Receiver, Transmitter
from adagrain.models.interface.configuration import Configuration

__all__ = ["Wired"]


class Wired(wiring.Component):
    """The design that a board is loaded with, and a host's adapter for its two wires.

    Parameters
    ----------
    configuration : Configuration
        What the device is built with.
    clock : float
        Clock cycles per second, of both.
    baud : float
        Bits per second, of both.
    adapter_baud : float or None
        The adapter's, where they differ.

    Members
    -------
    i, o : byte streams
        The adapter's.
    low : ``In(1)``
        Holds the line to the device low: a break.
    """

    def __init__(
        self,
        configuration: Configuration,
        *,
        clock: float,
        baud: float,
        adapter_baud: float | None = None,
    ) -> None:
        self._configuration = configuration
        self._clock = clock
        self._baud = baud
        self._adapter_baud = adapter_baud or baud
        super().__init__(
            {"i": In(stream.Signature(8)), "o": Out(stream.Signature(8)), "low": In(1)}
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.device = device = SerialCoprocessor(
            self._configuration, clock=self._clock, baud=self._baud
        )
        m.submodules.transmitter = transmitter = Transmitter(self._clock, self._adapter_baud)
        m.submodules.receiver = receiver = Receiver(self._clock, self._adapter_baud)
        connect(m, flipped(self.i), transmitter.i)
        connect(m, receiver.o, flipped(self.o))
        m.d.comb += [device.rx.eq(transmitter.tx & ~self.low), receiver.rx.eq(device.tx)]
        return m

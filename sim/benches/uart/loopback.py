"""A transmitter and a receiver on one line, which the bench may disturb."""

from amaranth.hdl import Module
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from adagrain.hdl.uart import LineCounters, Receiver, Transmitter

__all__ = ["Loopback"]


class Loopback(wiring.Component):
    """Transmitter and receiver: what enters at ``i`` leaves at ``o``, over a serial line.

    Parameters
    ----------
    clock : float
        Clock cycles per second.
    baud : float
        Bits per second that the receiver expects.
    skew : float
        Part by which the transmitter is faster.

    Members
    -------
    i, o : byte streams
        Bytes to and from the line.
    low : ``In(1)``
        Forces the line low.
    rx : ``Out(1)``
        The line.
    is_break, counters
        The receiver's.
    """

    def __init__(self, clock: float, baud: float, *, skew: float = 0.0) -> None:
        self.clock = clock
        self.baud = baud
        self.skew = skew
        super().__init__(
            {
                "i": In(stream.Signature(8)),
                "o": Out(stream.Signature(8)),
                "low": In(1),
                "rx": Out(1),
                "is_break": Out(1),
                "counters": Out(LineCounters),
            }
        )

    @property
    def cycles_per_bit(self) -> float:
        """Of the receiver."""
        return self.clock / self.baud

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.sender = sender = Transmitter(self.clock, self.baud * (1 + self.skew))
        m.submodules.receiver = receiver = Receiver(self.clock, self.baud)
        connect(m, flipped(self.i), sender.i)
        connect(m, receiver.o, flipped(self.o))
        m.d.comb += [
            self.rx.eq(sender.tx & ~self.low),
            receiver.rx.eq(self.rx),
            self.is_break.eq(receiver.is_break),
            self.counters.eq(receiver.counters),
        ]
        return m

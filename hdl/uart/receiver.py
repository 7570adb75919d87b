"""Bytes from a serial line."""

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from .rate import ACCUMULATOR_BITS, FRAME_BITS, step_per_cycle

__all__ = ["BREAK_BITS", "LineCounters", "Receiver"]

#: Bit times of a low line that make a break; twice the longest that data can be low.
BREAK_BITS = 2 * FRAME_BITS

#: What goes wrong on a line, by the names of the registers; modulo 2**16.
LineCounters = data.StructLayout(dict.fromkeys(("framing_errors", "overruns", "breaks"), 16))


class Receiver(wiring.Component):
    """Receives 8N1, sampling each bit once, in its middle or less than two cycles behind.

    One of these passes until the start bit is seen, one until the cycle that follows the middle.
    With n cycles per bit, as the receiver has them, those of the sender may be ``5 % − 20 % / n``
    shorter: none at 4, 1 % at 5, 2.5 % at 8, 4 % at 20. They may be 5.5 % longer.

    A start bit that is high again in its middle was a glitch and is ignored. A byte without a
    stop bit is dropped as a framing error; then the line must be high before another start bit is
    seen. A byte that comes while the one before still waits is dropped too, as an overrun: a
    serial line knows no back-pressure. The line must have been synchronised.

    Parameters
    ----------
    clock : float
        Clock cycles per second.
    baud : float
        Bits per second, as :func:`~adagrain.hdl.uart.rate.step_per_cycle` takes it.

    Members
    -------
    rx : ``In(1)``
        The line; high when idle.
    o : ``Out(stream.Signature(8))``
        Bytes, each offered in the middle of its stop bit.
    is_break : ``Out(1)``
        The line has been low for 20 bits or more.
    counters : ``Out(LineCounters)``
        Bytes lost, and breaks, since reset.
    fails : ``Out(1)``
        One of the counters counts.

    Raises
    ------
    TypeError, ValueError
        If a parameter is not what it must be.
    """

    def __init__(self, clock: float, baud: float) -> None:
        self._step = step_per_cycle(clock, baud)
        super().__init__(
            {
                "rx": In(1, init=1),
                "o": Out(stream.Signature(8)),
                "is_break": Out(1),
                "counters": Out(LineCounters),
                "fails": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        half = 1 << (ACCUMULATOR_BITS - 1)
        phase = Signal(ACCUMULATOR_BITS, init=half)
        advanced = Signal(ACCUMULATOR_BITS + 1)
        middle = advanced[-1]  # of a bit
        bits = Signal(FRAME_BITS - 1)  # start bit and data; the start bit leaves first
        count = Signal(range(FRAME_BITS))
        m.d.comb += advanced.eq(phase + self._step)
        with m.If(self.o.ready):
            m.d.sync += self.o.valid.eq(0)

        with m.FSM():
            with m.State("IDLE"):
                m.d.sync += [phase.eq(half), count.eq(0)]
                with m.If(~self.rx):
                    m.next = "BITS"
            with m.State("BITS"):
                m.d.sync += phase.eq(advanced)
                with m.If(middle):
                    m.d.sync += [bits.eq(Cat(bits[1:], self.rx)), count.eq(count + 1)]
                    with m.If((count == 0) & self.rx):
                        m.next = "IDLE"
                    with m.If(count == FRAME_BITS - 1):
                        m.next = "IDLE"
                        with m.If(~self.rx):
                            self._count(m, "framing_errors")
                            m.next = "LOW"
                        with m.Elif(self.o.valid & ~self.o.ready):
                            self._count(m, "overruns")
                        with m.Else():
                            m.d.sync += [self.o.payload.eq(bits[1:]), self.o.valid.eq(1)]
            with m.State("LOW"):
                with m.If(self.rx):
                    m.next = "IDLE"

        self._notice_break(m)
        return m

    def _notice_break(self, m: Module) -> None:
        """Measure how long the line has been low, whatever the bytes are."""
        phase = Signal(ACCUMULATOR_BITS)
        advanced = Signal(ACCUMULATOR_BITS + 1)
        low = Signal(range(BREAK_BITS + 1))
        m.d.comb += [advanced.eq(phase + self._step), self.is_break.eq(low == BREAK_BITS)]
        m.d.sync += phase.eq(advanced)
        with m.If(advanced[-1] & ~self.is_break):
            m.d.sync += low.eq(low + 1)
            with m.If(low == BREAK_BITS - 1):
                self._count(m, "breaks")
        with m.If(self.rx):
            m.d.sync += [low.eq(0), phase.eq(0)]

    def _count(self, m: Module, name: str) -> None:
        m.d.comb += self.fails.eq(1)
        m.d.sync += self.counters[name].eq(self.counters[name] + 1)

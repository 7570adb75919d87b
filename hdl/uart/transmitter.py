"""Bytes to a serial line."""

from amaranth.hdl import Cat, Const, Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from .rate import ACCUMULATOR_BITS, FRAME_BITS, step_per_cycle

__all__ = ["Transmitter"]


class Transmitter(wiring.Component):
    """Sends bytes as 8N1: a start bit, eight data bits from the lowest on, a stop bit.

    A byte is taken as the stop bit of the one before ends, so that a stream that is always
    valid leaves no gap. ``i.ready`` comes from registers alone. The edges of bits jitter by a
    cycle, but drift no further than the step's rounding; after a pause they are always the same.

    Parameters
    ----------
    clock : float
        Clock cycles per second.
    baud : float
        Bits per second, as :func:`~adagrain.hdl.uart.rate.step_per_cycle` takes it.

    Members
    -------
    i : ``In(stream.Signature(8))``
        Bytes.
    tx : ``Out(1)``
        The line; high when idle.

    Raises
    ------
    TypeError, ValueError
        If a parameter is not what it must be.
    """

    def __init__(self, clock: float, baud: float) -> None:
        self._step = step_per_cycle(clock, baud)
        super().__init__({"i": In(stream.Signature(8)), "tx": Out(1, init=1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        bits = Signal(FRAME_BITS - 1, init=-1)  # still to come, behind the one on the line
        left = Signal(range(FRAME_BITS + 1))
        phase = Signal(ACCUMULATOR_BITS)
        advanced = Signal(ACCUMULATOR_BITS + 1)
        ends = (left == 1) & advanced[-1]
        m.d.comb += [advanced.eq(phase + self._step), self.i.ready.eq((left == 0) | ends)]

        with m.If(left != 0):
            m.d.sync += phase.eq(advanced)
            with m.If(advanced[-1]):
                m.d.sync += [Cat(self.tx, bits).eq(Cat(bits, Const(1, 1))), left.eq(left - 1)]
        with m.If(self.i.ready):
            with m.If(self.i.valid):
                m.d.sync += [
                    self.tx.eq(0),
                    bits.eq(Cat(self.i.payload, Const(1, 1))),
                    left.eq(FRAME_BITS),
                ]
            with m.Else():
                m.d.sync += phase.eq(0)
        return m

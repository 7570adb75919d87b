"""Stages that wait together."""

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import stream

__all__ = ["stallable"]


def stallable(m: Module, i: stream.Interface, o: stream.Interface, stages: int) -> Signal:
    """Join the handshakes of two streams over so many register stages.

    Returns
    -------
    Signal
        All stages move in this cycle.
    """
    valid = Signal(stages)
    moves = Signal()
    m.d.comb += [
        o.valid.eq(valid[-1]),
        moves.eq(~o.valid | o.ready),
        i.ready.eq(moves),
    ]
    with m.If(moves):
        m.d.sync += valid.eq(Cat(i.valid, valid[:-1]))
    return moves

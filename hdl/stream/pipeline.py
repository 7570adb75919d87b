"""An elastic pipeline: its stages wait together."""

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import stream

__all__ = ["elastic"]


def elastic(
    m: Module,
    i: stream.Interface,
    o: stream.Interface,
    stages: int,
    valid: Signal | None = None,
) -> Signal:
    """Join the handshakes of two streams over so many register stages.

    Parameters
    ----------
    valid : Signal or None
        A bit for each stage, where someone else wants to see which of them hold something.

    Returns
    -------
    Signal
        Pipeline enable: all stages move in this cycle.
    """
    if valid is None:
        valid = Signal(stages)
    enable = Signal()
    m.d.comb += [
        o.valid.eq(valid[-1]),
        enable.eq(~o.valid | o.ready),
        i.ready.eq(enable),
    ]
    with m.If(enable):
        m.d.sync += valid.eq(Cat(i.valid, valid[:-1]))
    return enable

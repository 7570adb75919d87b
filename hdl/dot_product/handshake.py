"""Terms that go in and sums that come out."""

from amaranth.hdl import Module, Signal, Value
from amaranth.lib import stream

from adagrain.hdl.stream.pipeline import elastic

__all__ = ["summing"]


def summing(
    m: Module, i: stream.Interface, o: stream.Interface, stages: int, *, busy: Value, last: Value
) -> tuple[Value, Signal]:
    """Join the handshakes of terms and sums over so many register stages.

    Parameters
    ----------
    busy : Value
        The terms at ``i`` have to wait for their sum.
    last : Value
        The terms in the last stage ended their sum: it leaves.

    Returns
    -------
    tuple of Value
        Terms are there and not busy; the pipeline enable.
    """
    terms, sums = (stream.Signature(1).create(path=(name,)) for name in ("terms", "sums"))
    enable = elastic(m, terms, sums, stages)
    m.d.comb += [
        terms.valid.eq(i.valid & ~busy),
        i.ready.eq(terms.ready & ~busy),
        o.valid.eq(sums.valid & last),
        sums.ready.eq(o.ready | ~last),
    ]
    return terms.valid, enable

"""A stream FIFO that keeps the shape of its payload."""

from typing import Any

from amaranth.hdl import Module, Shape
from amaranth.lib import stream, wiring
from amaranth.lib.fifo import SyncFIFOBuffered
from amaranth.lib.wiring import In, Out

from adagrain.hdl.checks import check_integer

__all__ = ["Queue"]


class Queue(wiring.Component):
    """First-in, first-out buffer between two streams.

    An element that enters an empty queue can leave two cycles later, at depth 1 in the next one.
    Where the depth is three or more, one enters and one leaves per cycle after that; else one in
    two cycles. ``i.ready`` and ``o.valid`` come from registers alone, so a queue also
    cuts the combinational paths of a stream. It is :class:`amaranth.lib.fifo.SyncFIFOBuffered`,
    whose own streams lose the payload's shape. Packets are not treated as such: their elements
    leave as they come.

    Parameters
    ----------
    shape : ShapeLike
        Shape of the payload.
    depth : int
        Elements that it holds, at least 1. One of them stands in the output register, the others
        in a memory.

    Members
    -------
    i : ``In(stream.Signature(shape))``
        Elements in; ``ready`` while there is room.
    o : ``Out(stream.Signature(shape))``
        The same elements in the same order.

    Raises
    ------
    TypeError, ValueError
        If a parameter is not what it must be.
    """

    def __init__(self, shape: Any, depth: int) -> None:
        check_integer("depth", depth, 1)
        self._shape = shape
        self._depth = depth
        super().__init__({"i": In(stream.Signature(shape)), "o": Out(stream.Signature(shape))})

    @property
    def shape(self) -> Any:
        """Shape of the payload."""
        return self._shape

    @property
    def depth(self) -> int:
        """Elements that it holds."""
        return self._depth

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        m.submodules.fifo = fifo = SyncFIFOBuffered(
            width=Shape.cast(self._shape).width, depth=self._depth
        )
        wiring.connect(m, wiring.flipped(self.i), fifo.w_stream)
        wiring.connect(m, wiring.flipped(self.o), fifo.r_stream)
        return m

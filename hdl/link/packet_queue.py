"""A queue of packets whose first byte, and whose fate, are known only at their end."""

from amaranth.hdl import Module, Mux, Signal, unsigned
from amaranth.lib import data, memory, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from adagrain.hdl.checks import check_power_of_two
from adagrain.hdl.stream.pipeline import elastic

__all__ = ["PacketQueue", "queued_byte_layout"]


def queued_byte_layout(depth: int) -> data.StructLayout:
    """Input of a queue: bytes of a packet, then its end.

    Members
    -------
    data : ``unsigned(8)``
        A byte; at the end, the packet's head.
    end : ``unsigned(1)``
        The packet is complete.
    keep : ``range(depth)``
        At the end: how many of its bytes stay in the packet; those behind are dropped.
    """
    return data.StructLayout({"data": unsigned(8), "end": unsigned(1), "keep": range(depth)})


class PacketQueue(wiring.Component):
    """Memory that takes a packet's body first and puts its head before it.

    A packet can be read when its end has come: the head, then the bytes kept. Taking and
    giving go on at the same time, each one byte per cycle; a packet's head can leave three
    cycles after its end came, since block RAM is slow, and has a register behind it.
    ``i.ready`` is low while the memory is full, and does not depend on what is offered. The
    reader must know by itself where packets end.

    A packet's bytes, those to be dropped included, must be at most ``depth - 2``: a longer
    one waits for room for ever.

    Parameters
    ----------
    depth : int
        Bytes that it holds: a power of two, at least 4.

    Members
    -------
    i : ``In(stream.Signature(queued_byte_layout(depth)))``
        Bodies and ends.
    o : ``Out(stream.Signature(8))``
        Heads and bodies.

    Raises
    ------
    TypeError, ValueError
        If a parameter is not what it must be.
    """

    def __init__(self, depth: int) -> None:
        check_power_of_two("depth", depth, 4)
        self._depth = depth
        super().__init__(
            {
                "i": In(stream.Signature(queued_byte_layout(depth))),
                "o": Out(stream.Signature(8)),
            }
        )

    @property
    def depth(self) -> int:
        """Bytes that it holds."""
        return self._depth

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.store = store = memory.Memory(shape=8, depth=self._depth, init=[])
        write_port, read_port = store.write_port(), store.read_port()

        # Positions count on over the wrap: equal in all bits means empty, in all but the
        # topmost means full.
        width = exact_log2(self._depth)
        head = Signal(width + 1)  # of the packet that is being taken
        tail = Signal(width + 1, init=1)  # where its next byte goes
        position = Signal(width + 1)  # what is to be read next
        next_head = head + 1 + self.i.p.keep
        full = (tail ^ position) == self._depth
        m.d.comb += [
            self.i.ready.eq(~full),
            write_port.en.eq(self.i.valid & self.i.ready),
            write_port.addr.eq(Mux(self.i.p.end, head, tail)),
            write_port.data.eq(self.i.p.data),
        ]
        with m.If(self.i.valid & self.i.ready):
            with m.If(self.i.p.end):
                m.d.sync += [head.eq(next_head), tail.eq(next_head + 1)]
            with m.Else():
                m.d.sync += tail.eq(tail + 1)

        read = stream.Signature(8).create(path=("read",))
        m.d.comb += [
            read_port.en.eq(~read.valid | read.ready),
            read_port.addr.eq(position),
            read.payload.eq(read_port.data),
        ]
        with m.If(elastic(m, read, self.o, 1)):
            m.d.sync += self.o.payload.eq(read.payload)
        with m.If(read_port.en):
            m.d.sync += read.valid.eq(position != head)
            with m.If(position != head):
                m.d.sync += position.eq(position + 1)

        return m

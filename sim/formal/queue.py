"""Queues: what comes, leaves, once, in order, and nothing gets stuck."""

from amaranth.hdl import Assert, Cover, Module
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out, connect, flipped

from adagrain.hdl.stream.queue import Queue
from adagrain.hdl.stream.skid import Skid
from adagrain.hdl.stream.spill_register import SpillRegister

from .harness import Proof, counted, demand_order, demand_patience, demand_stable, transfers

__all__ = ["QueueProof", "SingleProof"]


class QueueProof(Proof):
    """A queue of several elements."""

    ELEMENTS = 3
    DEPTH = 10
    MUTANT = (
        "hdl/stream/queue.py",
        "wiring.connect(m, wiring.flipped(self.o), fifo.r_stream)",
        "wiring.connect(m, wiring.flipped(self.o), fifo.r_stream)\n"
        "        m.d.comb += fifo.r_en.eq(self.o.ready | fifo.w_en)",
    )

    def __init__(self) -> None:
        super().__init__({"i": In(stream.Signature(2)), "o": Out(stream.Signature(2))})

    def unit(self) -> Queue | Skid | SpillRegister:
        """The unit that is proved."""
        return Queue(2, depth=self.ELEMENTS)

    def build(self, m: Module) -> None:
        m.submodules.queue = queue = self.unit()
        connect(m, flipped(self.i), queue.i)
        connect(m, queue.o, flipped(self.o))
        entered, left = transfers(self.i), transfers(self.o)
        demand_order(m, self.watch, entered, self.i.payload, left, self.o.payload)
        demand_stable(m, self.o)
        held = counted(m, entered) - counted(m, left)
        m.d.comb += Assert(held[:5] <= self.ELEMENTS)
        demand_patience(m, held[:5] != 0, self.o.valid, cycles=1)
        demand_patience(m, held[:5] < self.ELEMENTS, self.i.ready, cycles=1)
        m.d.comb += Cover(~self.i.ready)


class SingleProof(QueueProof):
    """A queue of one element, which cuts a stream's combinational paths."""

    ELEMENTS = 1
    MUTANT = (
        "hdl/stream/queue.py",
        "width=Shape.cast(self._shape).width, depth=self._depth",
        "width=Shape.cast(self._shape).width, depth=self._depth + 1",
    )

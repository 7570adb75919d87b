"""Sums of products of integers alone."""

from amaranth.hdl import EnableInserter, Module, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from adagrain.hdl.stream.delay import delayed
from adagrain.models.interface.precision import INTEGERS

from .accumulator import check_entries, later
from .dot_product import sums_layout, terms_layout
from .handshake import summing
from .product_sum import ProductSum
from .running_sum import RunningSum, slot_layout

__all__ = ["IntegerDotProduct"]


class IntegerDotProduct(wiring.Component):
    """Adds products of INT8 and INT4 to sums, as :class:`DotProduct` does, with less logic.

    A pair of words per cycle, whatever the modes; one that goes on with the sum of the pair before
    the last, and not of the last one, waits a cycle. A sum leaves :attr:`LATENCY` cycles after its
    last pair; all stages wait together for ``o``.

    Parameters
    ----------
    entries : int
        Number of sums, at least 2.

    Members
    -------
    i : ``In(stream.Signature(terms_layout(entries)))``
        Terms; their modes must be INT8 or INT4: others are not told from them.
    o : ``Out(stream.Signature(sums_layout(entries)))``
        Sums that have ended.

    Raises
    ------
    TypeError, ValueError
        If a parameter is not what it must be.
    """

    #: Cycles from a pair of words to the next one of the same sum, where there is none in between.
    LOOP = 1
    LATENCY = ProductSum.LATENCY + 1
    PRECISIONS = INTEGERS

    def __init__(self, entries: int) -> None:
        check_entries(entries)
        self._entries = entries
        super().__init__(
            {
                "i": In(stream.Signature(terms_layout(entries))),
                "o": Out(stream.Signature(sums_layout(entries))),
            }
        )

    @property
    def entries(self) -> int:
        """Number of sums."""
        return self._entries

    def elaborate(self, platform: object) -> Module:
        m = Module()
        busy, last = Signal(), Signal()
        taken, enable = summing(m, self.i, self.o, self.LATENCY, busy=busy, last=last)
        m.submodules.products = products = ProductSum()
        m.d.comb += [
            products.en.eq(enable),
            products.mode.eq(self.i.p.mode),
            products.a.eq(self.i.p.a),
            products.b.eq(self.i.p.b),
        ]
        stages = Module()
        stages.submodules.sums = sums = RunningSum(self._entries)
        slot = self._slot(stages, taken)
        under_way = later(stages, slot, 2)
        stages.d.comb += [
            busy.eq(slot.returns & under_way.valid & (slot.index == under_way.index)),
            sums.slot.eq(later(stages, slot, ProductSum.LATENCY - 1)),
            sums.i.eq(products.o),
            self.o.p.word.eq(sums.o),
            self.o.p.flags.overflow.eq(sums.overflow),
            self.o.p.mode.eq(delayed(stages, self.i.p.mode, self.LATENCY)),
            self.o.p.index.eq(delayed(stages, self.i.p.index, self.LATENCY)),
            last.eq(delayed(stages, self.i.p.last, self.LATENCY)),
        ]
        m.submodules.stages = EnableInserter(enable)(stages)
        return m

    def _slot(self, m: Module, taken: Value) -> Signal:
        """The sum that a product belongs to."""
        slot = Signal(slot_layout(self._entries))
        index = Signal.like(self.i.p.index, reset_less=True)
        same = index == self.i.p.index
        m.d.comb += [
            slot.valid.eq(taken),
            slot.index.eq(self.i.p.index),
            slot.stays.eq(same & ~self.i.p.first),
            slot.returns.eq(~same & ~self.i.p.first),
        ]
        with m.If(taken):
            m.d.sync += index.eq(self.i.p.index)
        return slot

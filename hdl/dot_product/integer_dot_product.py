"""Sums of products of integers alone."""

from amaranth.hdl import Cat, EnableInserter, Module, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from adagrain.hdl.delay import delayed
from adagrain.models.precision import INTEGERS

from .accumulator import later
from .dot_product import sums_layout, terms_layout
from .handshake import summing
from .product_sum import ProductSum
from .running_sum import RunningSum, turn_layout

__all__ = ["IntegerDotProduct"]


class IntegerDotProduct(wiring.Component):
    """Adds products of INT8 and INT4 to sums, as :class:`DotProduct` does, with less logic.

    A pair of words per cycle, whatever the modes, as long as it goes on with the sum of the last
    one, begins a sum, or comes :attr:`LOOP` cycles after the last pair of its own; it waits until
    then. A sum leaves :attr:`LATENCY` cycles after its last pair; all stages wait together for
    ``o``.

    Parameters
    ----------
    entries : int
        Number of sums, at least 2.

    Members
    -------
    i : ``In(stream.Signature(terms_layout(entries)))``
        Terms; their modes must be INT8 or INT4: others are not told apart from them.
    o : ``Out(stream.Signature(sums_layout(entries)))``
        Sums that have ended.

    Raises
    ------
    ValueError
        If there are not enough entries.
    """

    #: Cycles from a pair of words to the next one of the same sum, if others come in between.
    LOOP = RunningSum.LOOP
    LATENCY = ProductSum.LATENCY + 1
    PRECISIONS = INTEGERS

    def __init__(self, entries: int) -> None:
        if entries < 2:
            raise ValueError(f"entries must be at least 2, not {entries!r}")
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
        taken, moves = summing(m, self.i, self.o, self.LATENCY, busy=busy, last=last)
        m.submodules.products = products = ProductSum()
        m.d.comb += [
            products.en.eq(moves),
            products.mode.eq(self.i.p.mode),
            products.a.eq(self.i.p.a),
            products.b.eq(self.i.p.b),
        ]
        stages = Module()
        turn = self._turn(stages, taken, busy)
        stages.submodules.sums = sums = RunningSum(self._entries)
        stages.d.comb += [
            sums.turn.eq(later(stages, turn, ProductSum.LATENCY - RunningSum.AHEAD)),
            sums.i.eq(products.o),
            self.o.p.word.eq(sums.o),
            self.o.p.flags.overflow.eq(sums.overflow),
            self.o.p.mode.eq(delayed(stages, self.i.p.mode, self.LATENCY)),
            self.o.p.index.eq(delayed(stages, self.i.p.index, self.LATENCY)),
            last.eq(delayed(stages, self.i.p.last, self.LATENCY)),
        ]
        m.submodules.stages = EnableInserter(moves)(stages)
        return m

    def _turn(self, m: Module, taken: Value, busy: Signal) -> Signal:
        """Whose turn it is; ``busy`` where its sum is still on its way to the memory."""
        turn, index = Signal(turn_layout(self._entries)), Signal.like(self.i.p.index)
        stays = index == self.i.p.index
        recent, waits = later(m, turn, 1), []
        for _ in range(self.LOOP - 2):
            recent = later(m, recent, 1)
            waits.append(recent.valid & (recent.index == self.i.p.index))
        m.d.comb += [
            turn.valid.eq(taken),
            turn.index.eq(self.i.p.index),
            turn.first.eq(self.i.p.first),
            turn.stays.eq(stays),
            busy.eq(~stays & ~self.i.p.first & Cat(waits).any()),
        ]
        with m.If(taken):
            m.d.sync += index.eq(self.i.p.index)
        return turn

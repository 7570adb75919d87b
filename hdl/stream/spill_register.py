"""A register for a stream, and a second one for when it has to stop."""

from typing import Any

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from adagrain.hdl.checks import check_flag

from .pipeline import elastic
from .skid import Skid

__all__ = ["SpillRegister"]


class SpillRegister(wiring.Component):
    """Cuts all combinational paths of a stream, without a memory.

    An element per cycle, latency 1. ``i.ready`` and ``o.valid`` come from registers. So does
    ``o.payload``, for words that have far to go; or, as in ``spill_register`` of PULP's
    ``common_cells``, from a multiplexer of two registers: it takes less logic where what follows
    can be merged with it, and registers need not know ``o.ready`` in the same cycle.

    Parameters
    ----------
    shape : ShapeLike
        Shape of the payload.
    registered : bool
        ``o.payload`` comes from a register.

    Members
    -------
    i : ``In(stream.Signature(shape))``
        Elements in; ``ready`` while none is spilled.
    o : ``Out(stream.Signature(shape))``
        The same elements in the same order.

    Raises
    ------
    TypeError
        If ``registered`` is not a bool.
    """

    def __init__(self, shape: Any, *, registered: bool = True) -> None:
        check_flag("registered", registered)
        self._shape, self._registered = shape, registered
        super().__init__({"i": In(stream.Signature(shape)), "o": Out(stream.Signature(shape))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        if self._registered:
            self._select_before(m)
        else:
            self._select_behind(m)
        return m

    def _select_before(self, m: Module) -> None:
        """Let what was spilled, or what comes, go into the register."""
        held, spilled = Signal(self._shape, reset_less=True), Signal(self._shape, reset_less=True)
        valid, full, moves = Signal(), Signal(), Signal()
        m.d.comb += [
            moves.eq(~valid | self.o.ready),
            self.i.ready.eq(~full),
            self.o.valid.eq(valid),
            self.o.payload.eq(held),
        ]
        m.d.sync += full.eq((full | self.i.valid) & ~moves)
        with m.If(moves):
            m.d.sync += [
                valid.eq(full | self.i.valid),
                held.eq(Mux(full, spilled, self.i.payload)),
            ]
        with m.If(~full):
            m.d.sync += spilled.eq(self.i.payload)

    def _select_behind(self, m: Module) -> None:
        """The register, and a skid behind it."""
        m.submodules.skid = skid = Skid(self._shape)
        held = Signal(self._shape, reset_less=True)
        m.d.comb += skid.i.payload.eq(held)
        with m.If(elastic(m, self.i, skid.i, 1)):
            m.d.sync += held.eq(self.i.payload)
        connect(m, skid.o, flipped(self.o))

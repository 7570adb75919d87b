"""Restoring division of fractions."""

from amaranth.hdl import Cat, Module, Mux, Signal, Value, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from adagrain.hdl.checks import check_choice

__all__ = ["Ratio"]

_QUOTIENT = 16


class Ratio(wiring.Component):
    """``min(65535, ⌊x·2¹⁶ / y⌋)`` by restoring division; 0 where x is 0, whatever y is.

    A quotient is offered ``1 + 16 / unroll`` cycles after its operands are taken, at once where
    x ≥ y. One division at a time: ``i.ready`` is low until the quotient has been taken.

    Parameters
    ----------
    unroll : int
        Quotient bits per cycle: 1, 2 or 4. Each costs a 33-bit subtraction in one cycle.

    Members
    -------
    i : ``In(stream.Signature({x: 32, y: 32}))``
        Numerator and denominator.
    o : ``Out(stream.Signature(16))``
        Quotient, Q0.16.

    Raises
    ------
    TypeError, ValueError
        If a parameter is not what it must be.
    """

    def __init__(self, unroll: int) -> None:
        check_choice("unroll", unroll, (1, 2, 4))
        self._unroll = unroll
        operands = data.StructLayout({"x": unsigned(32), "y": unsigned(32)})
        super().__init__(
            {"i": In(stream.Signature(operands)), "o": Out(stream.Signature(_QUOTIENT))}
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        x, y = self.i.p.x, self.i.p.y
        busy = Signal()
        left = Signal(range(_QUOTIENT // self._unroll + 1))
        divisor = Signal(32)
        remainder = Signal(32)
        quotient = Signal(_QUOTIENT)

        m.d.comb += [
            self.i.ready.eq(~busy),
            self.o.valid.eq(busy & (left == 0)),
            self.o.payload.eq(quotient),
        ]
        with m.If(self.i.valid & self.i.ready):
            m.d.sync += [
                busy.eq(1),
                divisor.eq(y),
                remainder.eq(x),
                quotient.eq((x != 0).replicate(_QUOTIENT)),
                left.eq(Mux(x < y, _QUOTIENT // self._unroll, 0)),
            ]
        with m.Elif(left != 0):
            rest, bits = remainder, list[Value]()
            for _ in range(self._unroll):
                trial = Signal(34)
                m.d.comb += trial.eq((rest << 1) - divisor)
                bits.insert(0, ~trial[-1])
                rest = Mux(trial[-1], rest << 1, trial)[:32]
            m.d.sync += [
                remainder.eq(rest),
                quotient.eq(Cat(*bits, quotient)),
                left.eq(left - 1),
            ]
        with m.If(self.o.valid & self.o.ready):
            m.d.sync += busy.eq(0)
        return m

"""The ECP5's multiplier."""

from amaranth.hdl import (
    ClockSignal,
    Const,
    Elaboratable,
    Instance,
    Module,
    Signal,
    Value,
    signed,
)

__all__ = ["Ecp5Product"]

#: Widest operand.
_BITS = 18


class Ecp5Product(Elaboratable):
    """One product in a ``MULT18X18D``, with its registers for operands and product.

    An inferred multiplier has none of them, and so ends at 143 MHz.
    Source: Lattice, ECP5 and ECP5-5G sysDSP Usage Guide (FPGA-TN-02205).

    Parameters
    ----------
    en : Value
        The registers move.
    a, b : Value
        Signed operands of at most 18 bits.
    o : Signal
        Product.

    Raises
    ------
    ValueError
        If an operand is unsigned, or has more bits.
    """

    def __init__(self, en: Value, a: Value, b: Value, o: Value) -> None:
        for name, operand in (("a", a), ("b", b)):
            shape = operand.shape()
            if not shape.signed or shape.width > _BITS:
                raise ValueError(
                    f"{name} must be signed and of at most {_BITS} bits, not {shape!r}"
                )
        self._en, self._a, self._b, self._o = en, a, b, o

    def elaborate(self, platform: object) -> Module:
        m = Module()
        registers = {
            f"p_REG_{place}_{kind}": f"{kind}0"
            for place in ("INPUTA", "INPUTB", "PIPELINE")
            for kind in ("CLK", "CE", "RST")
        }
        a, b, product = Signal(signed(_BITS)), Signal(signed(_BITS)), Signal(signed(2 * _BITS))
        m.submodules.cell = Instance(
            "MULT18X18D",
            **registers,
            p_RESETMODE="SYNC",
            p_GSR="DISABLED",
            i_CLK0=ClockSignal(),
            i_CE0=self._en,
            i_RST0=Const(0),
            i_SIGNEDA=Const(1),
            i_SIGNEDB=Const(1),
            i_SOURCEA=Const(0),
            i_SOURCEB=Const(0),
            **{f"i_A{bit}": a[bit] for bit in range(_BITS)},
            **{f"i_B{bit}": b[bit] for bit in range(_BITS)},
            **{f"o_P{bit}": product[bit] for bit in range(2 * _BITS)},
        )
        m.d.comb += [a.eq(self._a), b.eq(self._b), self._o.eq(product)]
        return m

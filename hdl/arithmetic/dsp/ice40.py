"""The iCE40 UltraPlus' multiplier."""

from collections.abc import Sequence

from amaranth.hdl import (
    Cat,
    ClockSignal,
    Const,
    Elaboratable,
    Instance,
    Module,
    Signal,
    Value,
    signed,
)

__all__ = ["Ice40Products"]


class Ice40Products(Elaboratable):
    """One or two signed products of 8 bits in a ``SB_MAC16``.

    Inference makes only one of each cell.
    Source: Lattice, DSP Function Usage Guide for iCE40 Devices (FPGA-TN-02007).

    Parameters
    ----------
    en : Value
        The registers move.
    operands : sequence of (Value, Value, Value)
        For each product its two operands, and where it goes.

    Raises
    ------
    ValueError
        If there are no operands or more than two pairs, or one is not signed and of 8 bits.
    """

    _ON = (
        *("MODE_8x8", "A_SIGNED", "B_SIGNED", "A_REG", "B_REG"),
        *("TOP_8x8_MULT_REG", "BOT_8x8_MULT_REG"),
    )
    _UNUSED = (
        *("AHOLD", "BHOLD", "CHOLD", "DHOLD", "IRSTTOP", "IRSTBOT", "ORSTTOP", "ORSTBOT"),
        *("OLOADTOP", "OLOADBOT", "ADDSUBTOP", "ADDSUBBOT", "OHOLDTOP", "OHOLDBOT"),
        *("CI", "ACCUMCI", "SIGNEXTIN", "C", "D"),
    )

    def __init__(self, en: Value, operands: Sequence[tuple[Value, Value, Value]]) -> None:
        if len(operands) not in (1, 2):
            raise ValueError(f"operands must be of one or two products, not {len(operands)}")
        for factor in (factor for row in operands for factor in row[:2]):
            if factor.shape() != signed(8):
                raise ValueError(f"operands must be signed and of 8 bits, not {factor.shape()!r}")
        self._en, self._operands = en, operands

    def elaborate(self, platform: object) -> Module:
        m = Module()
        a, b, products = Signal(16), Signal(16), Signal(32)
        m.submodules.cell = Instance(
            "SB_MAC16",
            **{f"p_{name}": Const(1, 1) for name in self._ON},
            p_TOPOUTPUT_SELECT=Const(2, 2),
            p_BOTOUTPUT_SELECT=Const(2, 2),
            i_CLK=ClockSignal(),
            i_CE=self._en,
            i_A=a,
            i_B=b,
            **{f"i_{name}": Const(0, 16 if name in "CD" else 1) for name in self._UNUSED},
            o_O=products,
        )
        m.d.comb += [
            a.eq(Cat(row[0] for row in self._operands)),
            b.eq(Cat(row[1] for row in self._operands)),
        ]
        for number, (_, _, product) in enumerate(self._operands):
            m.d.comb += product.eq(products.word_select(number, 16))
        return m

"""Signed products with the registers that a multiplier needs to be fast."""

from amaranth.hdl import Elaboratable, Module, Signal, signed
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from adagrain.hdl.checks import check_integer

from .ecp5 import Ecp5Product
from .ice40 import Ice40Products
from .target import family_of

__all__ = ["Products"]


class Products(wiring.Component):
    """Some products of signed numbers, side by side.

    Products per cycle: all, latency :attr:`LATENCY` cycles: a register holds the operands, another
    one the product. On an ECP5 each is one ``MULT18X18D`` with its own registers; on an iCE40
    UltraPlus two of 8 bits are one ``SB_MAC16``; elsewhere, and of other widths, synthesis decides.
    The registers have no reset.

    Parameters
    ----------
    width : int
        Bits of an operand, at most 18.
    lanes : int
        Number of products.

    Members
    -------
    en : ``In(1)``
        The registers move.
    a, b : ``In(data.ArrayLayout(signed(width), lanes))``
        Operands.
    o : ``Out(data.ArrayLayout(signed(2 * width), lanes))``
        Products.

    Raises
    ------
    TypeError, ValueError
        If a parameter is not what it must be.
    """

    LATENCY = 2

    def __init__(self, width: int, lanes: int) -> None:
        check_integer("width", width, 1, 18)
        check_integer("lanes", lanes, 1)
        self._width, self._lanes = width, lanes
        operands = data.ArrayLayout(signed(width), lanes)
        products = data.ArrayLayout(signed(2 * width), lanes)
        super().__init__({"en": In(1), "a": In(operands), "b": In(operands), "o": Out(products)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        for start in range(0, self._lanes, 2):
            lanes = range(start, min(start + 2, self._lanes))
            m.submodules += self._some(family_of(platform), lanes)
        return m

    def _some(self, family: str | None, lanes: range) -> list[Elaboratable]:
        """Two products, or the last one."""
        operands = [(self.a[lane], self.b[lane], self.o[lane]) for lane in lanes]
        if family == "ecp5":
            return [Ecp5Product(self.en, *row) for row in operands]
        if family == "ice40" and self._width == 8:
            return [Ice40Products(self.en, operands)]
        return [self._plain(*row) for row in operands]

    def _plain(self, a: Signal, b: Signal, o: Signal) -> Module:
        m = Module()
        x = Signal(signed(self._width), reset_less=True)
        y = Signal(signed(self._width), reset_less=True)
        product = Signal(signed(2 * self._width), reset_less=True)
        with m.If(self.en):
            m.d.sync += [x.eq(a), y.eq(b), product.eq(x * y)]
        m.d.comb += o.eq(product)
        return m

"""Exact sums of the first powers of the quantised elements."""

from amaranth.hdl import Module, Signal, Value, signed, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from adagrain.hdl.checks import check_choice, check_integer
from adagrain.hdl.stream.packet import check_lanes

__all__ = ["PowerSums"]


class PowerSums(wiring.Component):
    """Σq, Σq², Σq³, Σq⁴ over all lanes; wide enough never to overflow.

    Products of 15 or 16 bits, their sums, sums over the lanes and accumulators are registered, each
    in a stage of its own.
    One beat per cycle, latency at most :attr:`LATENCY` cycles, no back-pressure.

    Parameters
    ----------
    lanes : int
        Elements per cycle.
    powers : int
        2 or 4; with 2, ``s3`` and ``s4`` stay 0 and take no logic.
    count_bits : int
        The sums hold fewer than 2^count_bits elements.

    Members
    -------
    clear : ``In(1)``
        Start at 0.
    q : ``In(data.ArrayLayout(signed(16), lanes))``
        Elements from -32767 to 32767, as :class:`.Quantise` gives them; 0 where there is none.
    s1, s3 : ``Out(signed(count_bits + 16))``, ``Out(signed(count_bits + 48))``
    s2, s4 : ``Out(count_bits + 31)``, ``Out(count_bits + 64)``
        Sums.

    Raises
    ------
    TypeError, ValueError
        If a parameter is not what it must be.
    """

    LATENCY = 5

    def __init__(self, lanes: int, powers: int, count_bits: int) -> None:
        check_lanes(lanes)
        check_choice("powers", powers, (2, 4))
        check_integer("count_bits", count_bits, 1, 32)
        self._lanes = lanes
        self._powers = powers
        super().__init__(
            {
                "clear": In(1),
                "q": In(data.ArrayLayout(signed(16), lanes)),
                "s1": Out(signed(count_bits + 16)),
                "s2": Out(unsigned(count_bits + 31)),
                "s3": Out(signed(count_bits + 48)),
                "s4": Out(unsigned(count_bits + 64)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        elements = [self.q[lane] for lane in range(self._lanes)]
        squares = [self._register(m, q * q, unsigned(30)) for q in elements]
        self._accumulate(m, elements, self.s1)
        self._accumulate(m, squares, self.s2)
        if self._powers == 4:
            delayed = [self._register(m, q, signed(16)) for q in elements]
            pairs = zip(squares, delayed, strict=True)
            self._accumulate(m, [self._cube(m, square, q) for square, q in pairs], self.s3)
            self._accumulate(m, [self._fourth(m, square) for square in squares], self.s4)
        return m

    def _cube(self, m: Module, square: Signal, q: Signal) -> Signal:
        """A square times its element, by halves of 15 bits, a multiplier each."""
        low, high = (self._register(m, half * q, signed(31)) for half in (square[:15], square[15:]))
        return self._register(m, low + (high << 15), signed(46))

    def _fourth(self, m: Module, square: Signal) -> Signal:
        """A square's square, likewise."""
        low, high = square[:15], square[15:]
        products = [(low, low), (low, high), (high, high)]
        bottom, middle, top = (self._register(m, a * b, unsigned(30)) for a, b in products)
        return self._register(m, bottom + (middle << 16) + (top << 30), unsigned(60))

    def _register(self, m: Module, value: Value, shape: object) -> Signal:
        register = Signal(shape)
        m.d.sync += register.eq(value)
        return register

    def _accumulate(self, m: Module, terms: list[Signal], total: Signal) -> None:
        added = sum(terms[1:], start=terms[0])
        arrived = self._register(m, added, added.shape())
        m.d.sync += total.eq(total + arrived)
        with m.If(self.clear):
            m.d.sync += total.eq(0)

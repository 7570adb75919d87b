"""From an exact value to the nearest number of a format."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value, signed, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from adagrain.hdl.arithmetic.leading_zeros import leading_zeros
from adagrain.hdl.checks import check_flag, check_integer
from adagrain.models.interface.formats import ElementFormat

from .operand import check_format, result_layout

__all__ = ["Round", "unrounded_layout"]

#: What passes by the shifter.
_SPECIAL = data.StructLayout(dict.fromkeys(("sign", "infinite", "nan", "invalid"), unsigned(1)))


def unrounded_layout(width: int, exponent_bits: int) -> data.StructLayout:
    """A value before rounding.

    Members
    -------
    sign : ``unsigned(1)``
        It is negative.
    significand : ``unsigned(width)``
        Its magnitude; the lowest bit also stands for all that was lost below it.
    exponent : ``signed(exponent_bits)``
        Biased exponent of the significand's highest bit, be it set or not.
    infinite, nan, invalid : ``unsigned(1)``
        It is an infinity, or not a number, whatever the significand says; it raises INVALID.
    """
    return data.StructLayout(
        {
            "sign": unsigned(1),
            "significand": unsigned(width),
            "exponent": signed(exponent_bits),
            "infinite": unsigned(1),
            "nan": unsigned(1),
            "invalid": unsigned(1),
        }
    )


class Round(wiring.Component):
    """Normalises and rounds to nearest even, with subnormal numbers, overflow and flags.

    One value per cycle, latency :attr:`LATENCY` cycles, no back-pressure, no reset. UNDERFLOW is
    raised where an inexact result is tiny after rounding.

    Parameters
    ----------
    fmt : ElementFormat
        Format of the results.
    width : int
        Bits of the significand, at least three more than the format has.
    exponent_bits : int
        Bits of the exponent, at least one more than the format has.
    small : bool
        Whether values may lie so far below the format's smallest that the significand has to be
        shifted to the right, as products and narrower conversions do.

    Members
    -------
    i : ``In(unrounded_layout(width, exponent_bits))``
        Exact value.
    o : ``Out(result_layout(fmt))``
        Number and flags.

    Raises
    ------
    TypeError, ValueError
        If a parameter is not what it must be.
    """

    LATENCY = 3

    def __init__(self, fmt: ElementFormat, width: int, exponent_bits: int, *, small: bool) -> None:
        check_format("fmt", fmt)
        check_integer("width", width, fmt.mantissa_bits + 4)
        check_integer("exponent_bits", exponent_bits, fmt.exponent_bits + 1)
        check_flag("small", small)
        self._fmt = fmt
        self._width = width
        self._exponent_bits = exponent_bits
        self._small = small
        super().__init__(
            {"i": In(unrounded_layout(width, exponent_bits)), "o": Out(result_layout(fmt))}
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        fmt, width = self._fmt, self._width
        places = ceil_log2(width)

        # Stage 1: how far to shift. Subnormal numbers keep the smallest exponent.
        value = Signal.like(self.i, reset_less=True)
        left, right = Signal(places, reset_less=True), Signal(places + 1, reset_less=True)
        exponent = self.i.exponent  # 1 is the smallest one of the format
        subnormal, lost = exponent < 1, exponent < 1 - width
        marked = self.i.significand | self._lowest(m, exponent)
        zeros = leading_zeros(Cat(Const(0, (1 << places) - width), marked))
        m.d.sync += [
            value.eq(self.i),
            left.eq(Mux(subnormal, 0, zeros)),
            right.eq(Mux(~subnormal, 0, Mux(lost, width, 1 - exponent))),
        ]

        # Stage 2: shift; what falls out leaves a trace in the lowest bit.
        shifted = Signal(width, reset_less=True)
        highest = Signal(signed(self._exponent_bits), reset_less=True)  # the highest bit's exponent
        special = Signal(_SPECIAL, reset_less=True)
        m.d.sync += [
            shifted.eq(self._shifted(value.significand, left, right)),
            highest.eq(value.exponent - left),
            *[special[name].eq(value[name]) for name, _ in _SPECIAL],
        ]

        # Stage 3: round, and put together.
        precision = fmt.mantissa_bits + 1
        kept, rest = shifted[-precision:], shifted[:-precision]
        guard, next_bit, inexact = rest[-1], rest[-2], rest.any()
        up = guard & (rest[:-1].any() | kept[0])
        # The hidden bit, and what rounding carries over, raise the exponent by themselves.
        base = Mux(kept[-1], highest - 1, 0)[: self._exponent_bits]
        magnitude = Signal(fmt.mantissa_bits + self._exponent_bits + 1)
        m.d.comb += magnitude.eq(Cat(Const(0, fmt.mantissa_bits), base) + kept + up)
        infinity = fmt.overflow_value
        nan = infinity | 1 << (fmt.mantissa_bits - 1)
        top = magnitude[fmt.mantissa_bits :]
        overflow = top[: fmt.exponent_bits].all() | top[fmt.exponent_bits :].any()
        becomes_normal = kept[:-1].all() & guard & next_bit  # with one bit more to round to
        tiny = ~kept[-1] & ~becomes_normal
        o = Signal.like(self.o, reset_less=True)
        m.d.comb += self.o.eq(o)
        m.d.sync += [
            o.flags.eq(0),
            o.word.eq(Cat(Mux(overflow, infinity, magnitude)[: fmt.bits - 1], special.sign)),
            o.flags.inexact.eq(inexact | overflow),
            o.flags.underflow.eq(inexact & tiny),
            o.flags.overflow.eq(overflow),
        ]
        with m.If(special.infinite | special.nan):
            m.d.sync += [o.flags.eq(0), o.flags.invalid.eq(special.invalid)]
            m.d.sync += o.word.eq(
                Mux(special.nan, nan, Cat(Const(infinity, fmt.bits - 1), special.sign))
            )
        return m

    def _lowest(self, m: Module, exponent: Value) -> Value:
        """Place of the smallest normal number's highest bit: no number is shifted past it."""
        place = Signal(self._width)
        largest = (1 << len(exponent) - exponent.shape().signed) - 1
        with m.Switch(exponent):
            for left in range(min(self._width, largest)):
                with m.Case(left + 1):
                    m.d.comb += place[self._width - 1 - left].eq(1)
        return place

    def _shifted(self, significand: Value, left: Value, right: Value) -> Value:
        up = (significand << left)[: self._width]
        if not self._small:
            return up
        wide = Cat(Const(0, self._width), significand) >> right
        down = Cat(wide[self._width] | wide[: self._width].any(), wide[self._width + 1 :])
        return Mux(right != 0, down, up)

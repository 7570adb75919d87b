"""Symbols of elements, and what stands behind their codes."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value, signed, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from adagrain.hdl.arithmetic.half_binade import half_binade
from adagrain.hdl.arithmetic.leading_zeros import leading_zeros
from adagrain.hdl.stream.pipeline import elastic
from adagrain.models.interface.codec import BINS, BLOCK, ELEMENT_BITS, ESCAPE, GAP_BITS, SLOTS

from .encoder_layouts import Item, Mark, Symbol
from .layouts import TAIL_BITS, RegionParameters

__all__ = ["Symbols"]

#: Bits of a significand below the highest stored one, in FP16: the most that there are.
_REST = 9

#: An element whose gap and bin are known.
_Placed = data.StructLayout(
    {
        "gap": unsigned(GAP_BITS),
        "bin": signed(10),  # below 0, or beyond the last one, where it has no symbol
        "plain": unsigned(1),  # it has no other mantissa bits than those that are coded
        "fraction": unsigned(1 + _REST),  # sign and mantissa below its top bit, left-aligned
        "sent": range(1 + _REST + 1),  # bits of these that are coded
        "word": unsigned(ELEMENT_BITS),
        "slot": range(SLOTS),
        "last": unsigned(1),
        "mark": Mark,
    }
)


class Symbols(wiring.Component):
    """Tells each element's symbol, and the bits behind its code.

    An element per cycle, latency two cycles. The bits are told both for the symbol and for the
    escape, since it is not known here whether the table has a code for the symbol.

    Members
    -------
    i_region : ``In(stream.Signature(RegionParameters))``
        How a region is coded; taken with the last mark of its elements.
    i : ``In(stream.Signature(Item))``
        Elements and marks; they wait for their region's parameters.
    o : ``Out(stream.Signature(Symbol))``
        Symbols and marks.
    """

    def __init__(self) -> None:
        super().__init__(
            {
                "i_region": In(stream.Signature(RegionParameters)),
                "i": In(stream.Signature(Item)),
                "o": Out(stream.Signature(Symbol)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        known = stream.Signature(Item).create(path=("known",))
        m.d.comb += [
            known.payload.eq(self.i.payload),
            known.valid.eq(self.i.valid & self.i_region.valid),
            self.i.ready.eq(known.ready & self.i_region.valid),
            self.i_region.ready.eq(self.i.valid & known.ready & self._closes()),
        ]
        placed = Signal(_Placed)
        with m.If(elastic(m, known, self.o, 2)):
            self._place(m, placed, known.valid)
            self._tell(m, placed)
        return m

    def _closes(self) -> Value:
        return self.i.p.last & self.i.p.mark.closes

    def _place(self, m: Module, placed: data.View, taken: Value) -> None:
        """First stage: gap and bin."""
        region, item = self.i_region.p, self.i.p
        word, behind = item.word, Signal(range(BLOCK))  # the place behind the element before
        own = half_binade(word, region.bf16)
        rest = Mux(region.bf16, word[:6] << _REST - 6, word[:_REST])[:_REST]
        sent = Mux(region.mantissa_bits == 0, 0, region.mantissa_bits - 1)[:4]
        dropped = (rest & (Const((1 << _REST) - 1) >> sent)).any()
        with m.If(taken):
            m.d.sync += behind.eq(Mux(item.last, 0, item.place + 1))
        m.d.sync += [
            placed.gap.eq(item.place - behind),
            placed.bin.eq(Cat(Const(1, 1), region.exponent) - own),
            placed.plain.eq(~dropped & ~((region.mantissa_bits == 0) & own[0])),
            placed.fraction.eq(Cat(rest, word[15])),
            placed.sent.eq(sent + 1),
            placed.word.eq(word),
            placed.slot.eq(region.slot),
            placed.last.eq(item.last),
            placed.mark.eq(item.mark),
        ]

    def _tell(self, m: Module, placed: data.View) -> None:
        """Second stage: symbol; the gap, without its leading one, stands before the sign."""
        low = Signal(range(GAP_BITS))  # bits of the gap that are sent: its class less 1, or none
        gap_class = low + placed.gap.any()
        both = Cat(placed.fraction, placed.gap) << (GAP_BITS - 1 - low)[:4]
        sent = both[: GAP_BITS - 1 + len(placed.fraction)]
        plain = placed.plain & (placed.bin >= 0) & (placed.bin < BINS)
        m.d.comb += low.eq(~leading_zeros(Cat(placed.gap, Const(0, 16 - GAP_BITS))))
        m.d.sync += [
            self.o.p.symbol.eq(Mux(plain, gap_class * BINS + placed.bin, ESCAPE)),
            self.o.p.tail.bits.eq(sent << TAIL_BITS - len(sent)),
            self.o.p.tail.length.eq(low + placed.sent),
            self.o.p.escape.eq(Cat(placed.word, placed.gap)),
            self.o.p.slot.eq(placed.slot),
            self.o.p.last.eq(placed.last),
            self.o.p.mark.eq(placed.mark),
        ]

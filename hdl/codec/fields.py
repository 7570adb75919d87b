"""Fields of an element's bits."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from adagrain.hdl.stream.pipeline import elastic
from adagrain.models.interface.codec import BINS, ELEMENT_BITS, ESCAPE, GAP_BITS, SYMBOLS
from adagrain.models.interface.formats import FORMATS, FormatCode

from .decoder_layouts import COLUMN, BlockStart, CodedElement, Element, Kind
from .layouts import TAIL_BITS, RegionParameters

__all__ = ["Fields"]

_FP16, _BF16 = FORMATS[FormatCode.FP16], FORMATS[FormatCode.BF16]

#: Bits of the mantissa, below its top one, of the format that has more of them.
_FRACTION = _FP16.mantissa_bits - 1

_BIN_BITS = (BINS - 1).bit_length()


class Fields(wiring.Component):
    """Makes gap and element of a symbol and what stands behind its code.

    One per cycle, latency 1; its stage waits where ``o`` does. Of what is no element the kind alone
    is defined, and what it tells of its block.

    Members
    -------
    region : ``In(RegionParameters)``
        How the elements are coded, in either stage.
    i : ``In(stream.Signature(CodedElement))``
    o : ``Out(stream.Signature(Element))``
        Elements; what stands in a ``word`` that is ``below`` is undefined.
    """

    def __init__(self) -> None:
        super().__init__(
            {
                "region": In(RegionParameters),
                "i": In(stream.Signature(CodedElement)),
                "o": Out(stream.Signature(Element)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        enable = elastic(m, self.i, self.o, 1)
        given, found = self.i.payload, self.o.payload

        # Stage 1: put the gap, and what follows it, to their places.
        is_plain, whole = Signal(), Signal(TAIL_BITS)
        kind, start, symbol = Signal(Kind), Signal(BlockStart), Signal(range(SYMBOLS))
        escapes = (given.symbol & ESCAPE) == ESCAPE
        with m.If(enable):
            m.d.sync += [
                kind.eq(given.kind),
                start.eq(given.start),
                symbol.eq(given.symbol),
                is_plain.eq(~escapes),
                whole.eq(self._aligned(m, escapes)),
            ]

        # Stage 2: put gap and element together.
        m.d.comb += [
            found.kind.eq(kind),
            found.start.eq(start),
            found.gap.eq(self._gap(symbol[_BIN_BITS:], whole[ELEMENT_BITS:], is_plain)),
        ]
        half = Cat(1, self.region.exponent) - symbol[:_BIN_BITS]
        top = ELEMENT_BITS - 1
        sign, fraction = whole[top], whole[top - _FRACTION : top]
        kept = Cat(
            fraction[n] & (_FRACTION - n < self.region.mantissa_bits) for n in range(_FRACTION)
        )
        wide = Cat(kept, half[: _FP16.exponent_bits + 1], sign)
        narrow = Cat(kept[-_BF16.mantissa_bits + 1 :], half[: _BF16.exponent_bits + 1], sign)
        plain = Mux(self.region.bf16, narrow, wide)
        m.d.comb += [
            found.word.eq(Mux(is_plain, plain, whole[:ELEMENT_BITS])),
            found.below.eq(is_plain & half[-1]),
        ]
        return m

    def _aligned(self, m: Module, escapes: Value) -> Value:
        """Bits, shifted so that the gap's lowest one stands above the bits of a word.

        Below it are an escape's word, or sign and mantissa, and what does not belong to them.
        """
        given, kept = self.i.payload, self.region.mantissa_bits
        behind_sign = Mux(kept == 0, 0, kept - 1)[:4]
        shift = Signal(range(COLUMN + ELEMENT_BITS - 1))
        m.d.comb += shift.eq(given.excess + Mux(escapes, ELEMENT_BITS - 1, behind_sign))
        bits: Value = Cat(Const(0, ELEMENT_BITS - 1), given.bits)
        for power in reversed(range(len(shift))):
            length = TAIL_BITS + (1 << power) - 1
            stage = Signal(length, name=f"shifted_{power}")
            m.d.comb += stage.eq(Mux(shift[power], bits[1 << power :], bits)[:length])
            bits = stage
        return bits

    def _gap(self, kind: Value, low: Value, is_plain: Value) -> Value:
        """The gap of a class, whose leading 1 is not among its low bits; an escape has them all."""
        return Cat(
            (is_plain & (kind == n + 1)) | ((~is_plain | (kind > n + 1)) & low[n])
            for n in range(GAP_BITS)
        )

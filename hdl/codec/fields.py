"""What the bits of an element mean."""

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from adagrain.models.interface.codec import BINS, ESCAPE, GAP_BITS
from adagrain.models.interface.formats import FORMATS, FormatCode

from .layouts import CodedElement, Element, Kind, RegionParameters

__all__ = ["Fields"]

_FP16, _BF16 = FORMATS[FormatCode.FP16], FORMATS[FormatCode.BF16]

#: Bits of the mantissa, below its top one, of the format that has more of them.
_FRACTION = _FP16.mantissa_bits - 1

_BIN_BITS = (BINS - 1).bit_length()


class Fields(wiring.Component):
    """Makes gap and element of a symbol and what stands behind its code.

    One per cycle, latency 0, no registers. Begins and ends pass as they come.

    Members
    -------
    region : ``In(RegionParameters)``
        How the elements are coded.
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
        given, found = self.i.payload, self.o.payload
        is_plain = Signal()
        m.d.comb += [
            self.o.valid.eq(self.i.valid),
            self.i.ready.eq(self.o.ready),
            found.kind.eq(given.kind),
            is_plain.eq((given.kind == Kind.ELEMENT) & (given.symbol != ESCAPE)),
        ]
        aligned = self._aligned(m)
        fraction, sign = aligned[:_FRACTION], aligned[_FRACTION]
        low = Mux(is_plain, aligned[_FRACTION + 1 :], given.bits[16:])
        kind = given.symbol[_BIN_BITS:]
        m.d.comb += found.gap.eq(
            Cat(
                (is_plain & (kind == n + 1)) | ((~is_plain | (kind > n + 1)) & low[n])
                for n in range(GAP_BITS)
            )
        )
        half = Cat(1, self.region.exponent) - given.symbol[:_BIN_BITS]
        wide = Cat(fraction, half[: _FP16.exponent_bits + 1], sign)
        narrow = Cat(fraction[-_BF16.mantissa_bits + 1 :], half[: _BF16.exponent_bits + 1], sign)
        plain = Mux(self.region.bf16, narrow, wide)
        m.d.comb += [
            found.word.eq(Mux(is_plain, plain, given.bits[:16])),
            found.below.eq(is_plain & half[-1]),
        ]
        return m

    def _aligned(self, m: Module) -> Value:
        """Bits, shifted so that the sign and the fraction, as long as it may be, are lowest."""
        kept = self.region.mantissa_bits
        shift = Signal(range(_FRACTION + 1))
        m.d.comb += shift.eq(Mux(kept == 0, _FRACTION, _FRACTION + 1 - kept))
        return (self.i.payload.bits << shift)[: _FRACTION + GAP_BITS]

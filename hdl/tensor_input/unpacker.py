"""From a tensor's memory to beats of FP32 elements."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from adagrain.hdl.checks import check_kind
from adagrain.hdl.stream.packet import beat_layout, check_lanes
from adagrain.models.interface.formats import FORMATS, STREAMED, FormatCode
from adagrain.models.interface.units.tensor_input import TENSOR_FIELDS

__all__ = ["Unpacker"]

#: Start of a tensor: its elements, and how they lie in memory.
_Begin = data.StructLayout(TENSOR_FIELDS)


class Unpacker(wiring.Component):
    """Unpacks elements from beats of words, and widens them exactly to FP32.

    32-bit elements leave as they came, one beat for each that enters. 16-bit elements lie two in a
    word, the first in its lower half; a beat gives two, or one when the tensor ends in it. What
    the last beat holds beyond the tensor is dropped. Latency 0, no bubbles.

    BF16 keep all their bits; of another NaN only NaN-ness is kept. A format that is not built must
    be refused before.

    Parameters
    ----------
    lanes : int
        Words in a beat that enters and elements in one that leaves: 1, 2 or 4.
    formats : tuple of FormatCode
        Formats that are built, one at least of
        :data:`~adagrain.models.interface.formats.STREAMED`.

    Members
    -------
    i_begin : ``In(stream.Signature(data.StructLayout(TENSOR_FIELDS)))``
        Announces a tensor; accepted when the one before is through. ``count`` must not be 0.
    i : ``In(stream.Signature(data.ArrayLayout(32, lanes)))``
        Words.
    o : ``Out(stream.Signature(beat_layout(lanes)))``
        Elements.

    Raises
    ------
    TypeError, ValueError
        If a parameter is not what it must be.
    """

    def __init__(self, lanes: int, formats: tuple[FormatCode, ...]) -> None:
        check_lanes(lanes)
        check_kind("formats", formats, tuple)
        if not formats or not all(type(own) is FormatCode and own in STREAMED for own in formats):
            known = ", ".join(code.name for code in STREAMED)
            raise ValueError(f"formats must be of {known}, one at least, not {formats!r}")
        self._lanes = lanes
        self._formats = formats
        super().__init__(
            {
                "i_begin": In(stream.Signature(_Begin)),
                "i": In(stream.Signature(data.ArrayLayout(unsigned(32), lanes))),
                "o": Out(stream.Signature(beat_layout(lanes))),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        left = Signal(32)
        code = Signal(8)
        second = Signal()  # what leaves is the second one of the beat that enters
        ends = left <= self._lanes
        halves = Signal()  # elements are 16 bits wide

        with m.If(left == 0):
            m.d.comb += self.i_begin.ready.eq(1)
            m.d.sync += second.eq(0)
            with m.If(self.i_begin.valid):
                m.d.sync += left.eq(self.i_begin.payload.count)
                m.d.sync += code.eq(self.i_begin.payload.format)

        m.d.comb += [
            halves.eq(code != FormatCode.FP32),
            self.o.valid.eq(self.i.valid & (left != 0)),
            self.o.payload.last.eq(ends),
            self.i.ready.eq(self.o.ready & (left != 0) & (~halves | second | ends)),
        ]
        with m.If(self.o.valid & self.o.ready):
            m.d.sync += left.eq(Mux(ends, 0, left - self._lanes))
            m.d.sync += second.eq(halves & ~second)

        words = self.i.payload.as_value()
        for lane in range(self._lanes):
            first = words.word_select(lane, 16)
            half = Mux(second, words.word_select(self._lanes + lane, 16), first)
            element = self.o.payload.data[lane]
            m.d.comb += self.o.payload.keep[lane].eq(left > lane)
            with m.Switch(code):
                for known in self._formats:
                    with m.Case(known):
                        m.d.comb += element.eq(self._widened(m, known, lane, words, half))
        return m

    def _widened(self, m: Module, code: FormatCode, lane: int, words: Value, half: Value) -> Value:
        fmt = FORMATS[code]
        if fmt.bits == 32:
            return words.word_select(lane, 32)
        if fmt.exponent_bits == 8:
            return Cat(Const(0, 16), half)
        return _widened_narrow(m, half, fmt.exponent_bits, fmt.mantissa_bits, fmt.bias)


def _widened_narrow(
    m: Module, word: Value, exponent_bits: int, mantissa_bits: int, bias: int
) -> Value:
    """A format with fewer exponent bits: its subnormals are normal numbers in FP32."""
    mantissa, field = word[:mantissa_bits], word[mantissa_bits:-1]
    exponent = Signal(8)
    fraction = Signal(mantissa_bits)
    m.d.comb += [fraction.eq(mantissa), exponent.eq(field + (127 - bias))]
    with m.If(field == (1 << exponent_bits) - 1):
        m.d.comb += exponent.eq(255)
    with m.Elif(field == 0):
        m.d.comb += exponent.eq(0)
        for leading in range(mantissa_bits):  # the highest bit that is set comes last, and wins
            with m.If(mantissa[leading]):
                shift = mantissa_bits - leading
                m.d.comb += exponent.eq(127 - bias + 1 - shift)
                m.d.comb += fraction.eq(mantissa << shift)
    return Cat(Const(0, 23 - mantissa_bits), fraction, exponent, word[-1])

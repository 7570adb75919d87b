"""Takes coded blocks apart into elements, of which nothing is known but where they end."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value, ValueLike
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from adagrain.models.interface.codec import GAP_BITS, LONGEST_CODE

from .bit_unpacker import BitUnpacker
from .decode_table import DecodeTable
from .decoder_layouts import Block, CodedElement, DecodeWrite, Kind
from .layouts import CODED_BYTES, TAIL_BITS, Coded, RegionParameters

__all__ = ["Scanner"]

#: Bits of a word.
_WORD = TAIL_BITS - GAP_BITS


class Scanner(wiring.Component):
    """Finds each element's code, and how many bits follow it.

    An element in two cycles, of any size: one to look its code up, one to move by its size. Four
    more for each block: they bring its begin and its end. An element leaves as the next one is
    looked up, since its bits stand before that one's then.

    A block ends where its bytes do; an element that they do not hold is left out, and the block
    is cut. What symbols and gaps mean is not looked at: so all groups of a block are taken,
    whatever they hold.

    Members
    -------
    i_table : ``In(stream.Signature(DecodeWrite))``
        As that of :class:`~adagrain.hdl.codec.decode_table.DecodeTable`.
    i_begin : ``In(stream.Signature(RegionParameters))``
        Begins a region, where the last block of the one before has left.
    i_block : ``In(stream.Signature(Block))``
        Its blocks.
    i : ``In(stream.Signature(Coded))``
        Their bytes.
    o : ``Out(stream.Signature(CodedElement))``
        For each block ``BEGIN``, its elements, and ``END`` or ``CUT``.
    region : ``Out(RegionParameters)``
        Of the elements that leave.
    in_use : ``In(1)``
        Keep ``region`` as it is.
    """

    def __init__(self) -> None:
        super().__init__(
            {
                "i_table": In(stream.Signature(DecodeWrite)),
                "i_begin": In(stream.Signature(RegionParameters)),
                "i_block": In(stream.Signature(Block)),
                "i": In(stream.Signature(Coded)),
                "o": Out(stream.Signature(CodedElement)),
                "region": Out(RegionParameters),
                "in_use": In(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.bits = bits = BitUnpacker(8 * CODED_BYTES, TAIL_BITS, LONGEST_CODE)
        m.submodules.table = table = DecodeTable()
        wiring.connect(m, wiring.flipped(self.i_table), table.i_write)
        kept = self.region.mantissa_bits
        m.d.comb += [
            table.slot.eq(self.region.slot),
            table.ahead.eq(bits.ahead),
            bits.steps[0].eq(Mux(kept == 0, 1, kept)),  # sign and mantissa
            bits.steps[1].eq(_WORD),
            bits.second.eq(table.escapes),
            bits.size.eq(table.size),
        ]
        last_byte = Signal(range(CODED_BYTES))
        self._fetch(m, bits, last_byte)
        self._control(m, bits, table, *self._end(m, bits, last_byte))
        return m

    def _fetch(self, m: Module, bits: BitUnpacker, last_byte: Signal) -> None:
        """Take as many groups as a block has."""
        length = self.i_block.payload.length
        left = Signal(range((1 << len(length)) // CODED_BYTES + 1))
        m.d.comb += [
            bits.complete.eq(left == 0),
            bits.i.payload.eq(Cat(*reversed([*self.i.payload]))),
            bits.i.valid.eq(self.i.valid & ~bits.complete),
            self.i.ready.eq(bits.i.ready & ~bits.complete),
        ]
        with m.If(self.i.valid & self.i.ready):
            m.d.sync += left.eq(left - 1)
        with m.If(self.i_block.valid & self.i_block.ready):
            m.d.sync += [
                left.eq((length + CODED_BYTES - 1) >> len(last_byte)),
                last_byte.eq(length - 1),
            ]

    def _end(
        self, m: Module, bits: BitUnpacker, last_byte: Signal
    ) -> tuple[Signal, Signal, Signal]:
        """Tell if the place is the block's end, or behind it; and in the cycle after a look if what
        stood there is padding.
        """
        is_behind, cut, pads = Signal(), Signal(), Signal()
        bit, passed = bits.at[:3], bits.held == 0
        byte = Cat(bits.at[3:], passed)
        next_bits = Signal(7)
        m.d.sync += next_bits.eq(bits.ahead[-7:])
        is_last = bits.complete & ~bits.held[1]
        m.d.comb += [
            is_behind.eq(is_last & (byte > last_byte)),
            cut.eq(is_behind & ~((byte == last_byte + 1) & (bit == 0))),
            pads.eq(
                (is_last & (byte == last_byte) & (bit != 0))
                & Cat(next_bits[-1 - n] | (bit + n >= 8) for n in range(7)).all()
            ),
        ]
        return is_behind, cut, pads

    def _control(
        self,
        m: Module,
        bits: BitUnpacker,
        table: DecodeTable,
        is_behind: Signal,
        cut: Signal,
        pads: Signal,
    ) -> None:
        """Turn by turn through blocks."""
        block = self.i_block.payload
        closes = Signal()
        first = Signal()  # nothing stands before the next element
        free = ~self.o.valid | self.o.ready
        with m.If(self.o.ready):
            m.d.sync += self.o.valid.eq(0)
        with m.FSM():
            with m.State("REGION"):
                m.d.comb += self.i_begin.ready.eq(~self.o.valid & ~self.in_use)
                with m.If(self.i_begin.valid & self.i_begin.ready):
                    m.d.sync += self.region.eq(self.i_begin.payload)
                    m.next = "BLOCK"
            with m.State("BLOCK"):
                m.d.comb += [self.i_block.ready.eq(free), bits.restart.eq(1)]
                with m.If(self.i_block.valid & free):
                    m.d.sync += [first.eq(1), closes.eq(block.last)]
                    places = (block.count - 1)[:GAP_BITS]
                    self._send(m, Kind.BEGIN, Cat(block.last, Const(0, _WORD - 1), places), 0)
                    m.next = "LOOK"
            with m.State("LOOK"):
                with m.If(bits.valid & free):
                    m.d.comb += [table.en.eq(1), bits.look.eq(1)]
                    m.d.sync += [first.eq(0), self.o.payload.symbol.eq(table.symbol)]
                    with m.If(~first & ~cut):
                        self._send(m, Kind.ELEMENT, bits.before, bits.excess)
                    m.next = "MOVE"
                    with m.If(is_behind):
                        m.next = "END"
            with m.State("MOVE"):
                m.d.comb += bits.move.eq(1)
                m.next = "LOOK"
                with m.If(pads):
                    m.d.comb += bits.move.eq(0)
                    m.next = "END"
            with m.State("END"):
                with m.If(free):
                    self._send(m, Mux(cut, Kind.CUT, Kind.END), bits.before, bits.excess)
                    m.next = "BLOCK"
                    with m.If(closes):
                        m.next = "REGION"

    def _send(self, m: Module, kind: ValueLike, bits: Value, excess: ValueLike) -> None:
        m.d.sync += [
            self.o.valid.eq(1),
            self.o.payload.kind.eq(kind),
            self.o.payload.bits.eq(bits),
            self.o.payload.excess.eq(excess),
        ]

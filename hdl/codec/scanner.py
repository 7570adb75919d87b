"""Takes coded blocks apart into elements, of which nothing is known but where they end."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from adagrain.hdl.arithmetic.leading_zeros import leading_zeros
from adagrain.models.interface.codec import ELEMENT_BITS, LONGEST_CODE

from .bit_unpacker import BitUnpacker
from .decode_table import DecodeTable
from .decoder_layouts import Block, BlockStart, CodedElement, DecodeWrite, Kind
from .layouts import CODED_BYTES, TAIL_BITS, Coded, RegionParameters

__all__ = ["Scanner"]


class Scanner(wiring.Component):
    """Finds each element's code, and how many bits follow it.

    An element in two cycles, of any size: one to look its code up, one to move by its size. It
    leaves as the next one is looked up, since its bits stand before that one's then. As a block's
    last one leaves, the next block begins, if it is there: what stands first on ``i`` is looked up.
    So blocks follow each other without a pause; one without elements takes two cycles, and one
    that is cut as many as with the element that is missing.

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
        Its blocks; each is taken with its first group, if it has any.
    i : ``In(stream.Signature(Coded))``
        Their bytes.
    o : ``Out(stream.Signature(CodedElement))``
        For each block its elements, of which one is ``LAST``; or ``END`` or ``CUT`` behind them.
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
            table.en.eq(bits.look),
            bits.steps[0].eq(Mux(kept == 0, 1, kept)),  # sign and mantissa
            bits.steps[1].eq(ELEMENT_BITS),
            bits.second.eq(table.escapes),
            bits.size.eq(table.size),
        ]
        ends, cut = self._fetch(m, bits)
        self._control(m, bits, table, ends, cut)
        return m

    def _fetch(self, m: Module, bits: BitUnpacker) -> tuple[Value, Value]:
        """Take as many groups as a block has; tell if the place is at its end, and if it is cut."""
        length, begins = self.i_block.payload.length, bits.restart
        above = (length - 1)[: len(length)]
        left = Signal(range((1 << len(length)) // CODED_BYTES))  # groups that are still to come
        last_byte, kept_byte = Signal(range(CODED_BYTES)), Signal(range(CODED_BYTES))
        end = Signal(range(8 * CODED_BYTES + 1))  # in the last group, behind the last element
        wanted, taken = begins | ~bits.complete, self.i.valid & self.i.ready
        m.d.comb += [
            bits.complete.eq(left == 0),
            bits.i.payload.eq(Cat(*reversed([*self.i.payload]))),
            bits.i.valid.eq(self.i.valid & wanted),
            self.i.ready.eq(bits.i.ready & wanted),
            last_byte.eq(Mux(begins, above, kept_byte)),
        ]
        m.d.sync += kept_byte.eq(last_byte)
        with m.If(taken):
            m.d.sync += end.eq(_behind(last_byte) - _padding(self.i.payload[last_byte]))
        with m.If(begins):
            m.d.sync += left.eq(Mux(length == 0, 0, above[len(last_byte) :]))
        with m.Elif(taken):
            m.d.sync += left.eq(left - 1)
        is_last, place = bits.complete & ~bits.held[1], Cat(bits.at, bits.held == 0)
        return is_last & (place >= end), is_last & (place > _behind(kept_byte))

    def _control(
        self, m: Module, bits: BitUnpacker, table: DecodeTable, ends: Value, cut: Value
    ) -> None:
        """Turn by turn through blocks."""
        given, begins = self.i_block.payload, bits.restart
        start, empty = Signal(BlockStart), Signal()
        there = self.i_block.valid & (self.i.valid | (given.length == 0))
        free = ~self.o.valid | self.o.ready
        kind = Mux(empty, Kind.END, Mux(cut, Kind.CUT, Mux(ends, Kind.LAST, Kind.ELEMENT)))
        with m.If(self.o.ready):
            m.d.sync += self.o.valid.eq(0)
        with m.FSM():
            with m.State("REGION"):
                m.d.comb += self.i_begin.ready.eq(~self.o.valid & ~self.in_use)
                with m.If(self.i_begin.valid & self.i_begin.ready):
                    m.d.sync += self.region.eq(self.i_begin.payload)
                    m.next = "BLOCK"
            with m.State("BLOCK"):
                with m.If(there):
                    m.d.comb += begins.eq(1)
                    m.next = "MOVE"
            with m.State("LOOK"):
                with m.If(bits.valid & free):
                    self._send(m, kind, start, bits, table)
                    with m.If(~ends):
                        m.d.comb += bits.look.eq(1)
                        m.next = "MOVE"
                    with m.Elif(start.closes):
                        m.next = "REGION"
                    with m.Elif(there):
                        m.d.comb += begins.eq(1)
                        m.next = "MOVE"
                    with m.Else():
                        m.next = "BLOCK"
            with m.State("MOVE"):
                m.d.comb += bits.move.eq(~empty)
                m.next = "LOOK"
        with m.If(begins):
            m.d.comb += [self.i_block.ready.eq(1), bits.look.eq(given.length != 0)]
            m.d.sync += [
                empty.eq(given.length == 0),
                start.begins.eq(1),
                start.final.eq(given.count - 1),
                start.closes.eq(given.last),
            ]

    def _send(
        self, m: Module, kind: Value, start: data.View, bits: BitUnpacker, table: DecodeTable
    ) -> None:
        m.d.sync += [
            self.o.valid.eq(1),
            self.o.payload.kind.eq(kind),
            self.o.payload.start.eq(start),
            self.o.payload.symbol.eq(table.symbol),
            self.o.payload.bits.eq(bits.before),
            self.o.payload.excess.eq(bits.excess),
            start.begins.eq(0),
        ]


def _behind(byte: Value) -> Value:
    """The place behind a byte of a group."""
    return (byte + 1) << 3


def _padding(byte: Value) -> Value:
    """Ones at the end of a block's last byte, which no element begins with: at most 7."""
    return leading_zeros(Cat(Const(1, 1), *(~byte[n] for n in range(6, -1, -1))))

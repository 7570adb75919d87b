"""The bit packer: nothing is lost, at any width, under any back-pressure."""

from collections.abc import Iterator
from typing import Self

from amaranth.hdl import Assert, Assume, Const, Cover, Module, Mux, Signal, Value
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out, connect, flipped

from adagrain.hdl.codec.bit_packer import BitPacker, packed_layout
from adagrain.hdl.codec.encoder_layouts import chunk_layout

from .harness import (
    Proof,
    always_steady,
    assume_stable,
    counted,
    demand_patience,
    demand_stable,
    transfers,
)

__all__ = ["BitPackerProof"]

_MARK = 2


class BitPackerProof(Proof):
    """Of any block, any bit leaves where it belongs, ones up to its byte's end, and zeros then.

    Parameters
    ----------
    longest, width : int
        As those of :class:`BitPacker`.
    """

    DEPTH = 7
    MUTANT = (
        "hdl/codec/bit_packer.py",
        "begun.eq(placed[:carried] << width - carried)",
        "begun.eq(placed[:carried] << width - carried + 1)",
    )

    def __init__(self, longest: int = 7, width: int = 8) -> None:
        self._longest, self._width = longest, width
        super().__init__(
            {
                "i": In(stream.Signature(chunk_layout(longest, _MARK))),
                "o": Out(stream.Signature(packed_layout(width, _MARK))),
                "block": In(2),
            }
        )

    @classmethod
    def variants(cls) -> Iterator[Self]:
        for longest, width in ((7, 8), (9, 16)):
            yield cls(longest, width)

    def build(self, m: Module) -> None:
        m.submodules.packer = packer = BitPacker(self._longest, self._width, _MARK)
        connect(m, flipped(self.i), packer.i)
        connect(m, packer.o, flipped(self.o))
        always_steady(m, self.block)
        assume_stable(m, self.i)
        demand_stable(m, self.o)
        self._assume_chunks(m)
        came, left = transfers(self.i), transfers(self.o)
        ended = counted(m, came & self.i.p.last)
        gone = counted(m, left & self.o.p.last)
        demand_patience(m, ended != gone, self.o.valid, cycles=2)
        m.d.comb += Cover(left & (gone == 1) & self.o.p.last & (self.watch > self._width))

        bit, bits, mark = self._follow(m, came & (ended == self.block))
        words = Signal(5)
        with m.If(left):
            m.d.sync += words.eq(Mux(self.o.p.last, 0, words + 1))
        with m.If(left & (gone == self.block)):
            self._demand(m, words, bit, bits, mark, complete=ended > self.block)

    def _assume_chunks(self, m: Module) -> None:
        """Bits behind those that are sent are 0, and a block's end has none."""
        chunk = self.i.p
        behind = Const((1 << self._longest) - 1) >> chunk.length
        m.d.comb += [
            Assume(chunk.length <= self._longest),
            Assume((chunk.bits & behind) == 0),
            Assume(~chunk.last | (chunk.length == 0)),
        ]

    def _follow(self, m: Module, comes: Value) -> tuple[Signal, Signal, Signal]:
        """The watched bit of the watched block, the block's bits up to now, and its mark."""
        bit, bits, mark = Signal(), Signal(6), Signal(_MARK)
        chunk, behind = self.i.p, Signal(6)
        m.d.comb += behind.eq(self.watch - bits + 1)
        with m.If(comes):
            m.d.sync += [bits.eq(bits + chunk.length), mark.eq(chunk.mark)]
            with m.If((bits <= self.watch) & (behind <= chunk.length)):
                m.d.sync += bit.eq((chunk.bits << behind)[self._longest])
        return bit, bits, mark

    def _demand(
        self, m: Module, words: Signal, bit: Signal, bits: Signal, mark: Signal, complete: Value
    ) -> None:
        """Demand what a word of the watched block must be."""
        word, width = self.o.p, self._width
        place = Signal(5)
        shown = Signal()
        m.d.comb += [
            place.eq(self.watch % width),
            shown.eq((word.bits << place)[width - 1]),
        ]
        with m.If(words == self.watch // width):
            with m.If(self.watch < bits):
                m.d.comb += Assert(shown == bit)
            with m.Elif(complete):
                m.d.comb += Assert(shown == (self.watch >> 3 == (bits - 1) >> 3))
        with m.If(complete):
            m.d.comb += Assert(word.last == (words == bits // width))
        with m.If(word.last):
            m.d.comb += [
                Assert(complete),
                Assert(word.fill == bits % width),
                Assert(word.mark == mark),
            ]

"""The bit packer: nothing is lost, at any width, under any back-pressure, for all time."""

from collections.abc import Iterator
from typing import Any, Self

from amaranth.hdl import Assert, Assume, Const, Cover, Module, Value
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out, connect, flipped

from adagrain.hdl.codec.bit_packer import BitPacker, packed_layout
from adagrain.hdl.codec.encoder_layouts import CHUNK_BITS, Mark, chunk_layout
from adagrain.hdl.codec.layouts import CODED_BYTES

from .bit_packer_account import WORD_BITS, BitPackerAccount
from .bit_packer_state import BitPackerState
from .harness import (
    Proof,
    always_steady,
    assume_stable,
    counted,
    demand_patience,
    demand_stable,
    transfers,
)

__all__ = ["BitPackerProof", "BuiltBitPackerProof"]


class BitPackerProof(Proof):
    """Any bit leaves in its word, at its place; so do ends, ones up to a byte's end, zeros then.

    What must leave is told by :class:`BitPackerAccount` from chunks alone. The free ports ``word``
    and ``place`` choose what it follows: the bit at any one place of every eighth word. As any
    eighth may be chosen, that is each bit of all words. Counted modulo 8, words are not confused,
    since the packer never has more than three whole ones, and one that is begun: asserted, too.

    Bits are counted beside, modulo eight words: those that came are those that left and those
    that are held, which are fewer than four words.

    Parameters
    ----------
    longest, width, mark
        As those of :class:`BitPacker`.
    """

    DEPTH = 8
    INDUCTION = 1
    MUTANT = (
        "hdl/codec/bit_packer.py",
        "begun.eq(placed[:carried] << width - carried)",
        "begun.eq(placed[:carried] << width - carried + 1)",
    )

    def __init__(self, longest: int = 7, width: int = 8, mark: Any = 2) -> None:
        self._longest, self._width, self._mark = longest, width, mark
        super().__init__(
            {
                "i": In(stream.Signature(chunk_layout(longest, mark))),
                "o": Out(stream.Signature(packed_layout(width, mark))),
                "word": In(WORD_BITS),
                "place": In(range(width)),
            }
        )

    def build(self, m: Module) -> None:
        packer = BitPacker(self._longest, self._width, self._mark)
        account = BitPackerAccount(self._longest, self._width, self._mark)
        m.submodules.packer, m.submodules.account = packer, account
        waited = demand_patience(m, account.held != 0, self.o.valid, cycles=2)
        m.submodules.state = BitPackerState(packer, account, waited)  # elaborated behind packer
        connect(m, flipped(self.i), packer.i)
        connect(m, packer.o, flipped(self.o))
        came, left = transfers(self.i), transfers(self.o)
        m.d.comb += [
            account.word.eq(self.word),
            account.place.eq(self.place),
            account.came.eq(came),
            account.left.eq(left),
            account.chunk.eq(self.i.p),
            account.leaves.eq(self.o.p),
        ]
        always_steady(m, self.word)
        always_steady(m, self.place)
        assume_stable(m, self.i)
        demand_stable(m, self.o)
        self._assume_chunks(m)
        self._demand_words(m, account)
        again = counted(m, left & self.o.p.last)[0]
        m.d.comb += Cover(left & again & self.o.p.last & (self.o.p.fill != 0) & account.bit)
        m.d.comb += Cover(left & self.o.p.last & (account.number == 2) & (self.o.p.fill == 0))

    def _assume_chunks(self, m: Module) -> None:
        """Bits behind those that are sent are 0, and a block's end has none."""
        chunk = self.i.p
        behind = Const((1 << self._longest) - 1) >> chunk.length
        m.d.comb += [
            Assume(chunk.length <= self._longest),
            Assume((chunk.bits & behind) == 0),
            Assume(~chunk.last | (chunk.length == 0)),
        ]

    def _demand_words(self, m: Module, account: BitPackerAccount) -> None:
        """Demand what leaves, and that no word does of which not all has come."""
        shown = self.o.p
        m.d.comb += [Assert(account.held <= 3), Assert(~self.o.valid | (account.held != 0))]
        with m.If(self.o.valid & (account.number == self.word)):
            m.d.comb += [
                Assert((shown.bits << self.place)[self._width - 1] == account.bit),
                Assert(shown.last == account.ended),
            ]
            with m.If(account.ended):
                m.d.comb += [
                    Assert(shown.fill == account.fill),
                    Assert(Value.cast(shown.mark) == account.mark),
                ]
        with m.If(account.held == 0):
            m.d.comb += Assert(account.bits_held == account.at)


class BuiltBitPackerProof(BitPackerProof):
    """The same of the encoder's packer, of chunks as long as a word, and of words of two bytes."""

    MUTANT = (
        "hdl/codec/bit_packer.py",
        "shifted.p.byte.eq(at_chunk[3:])",
        "shifted.p.byte.eq(at_chunk[3:5])",
    )

    @classmethod
    def variants(cls) -> Iterator[Self]:
        yield cls(CHUNK_BITS, 8 * CODED_BYTES, Mark)
        yield cls(8, 8)
        yield cls(9, 16)

"""Mutants of the encoder's gateware."""

from .mutant import Mutant, bench, proved, tested

__all__ = ["MUTANTS"]

_TWO_LANES = bench("encoder", "two_lanes")
_PACKER = proved("bit_packer")

MUTANTS = (
    Mutant(
        "encoder takes -0 for a zero",
        "hdl/codec/nonzeros.py",
        "beat.data[n] != 0",
        "beat.data[n][:15] != 0",
        _TWO_LANES,
    ),
    Mutant(
        "encoder leaves out the end of a block whose last beat is of zeros",
        "hdl/codec/nonzeros.py",
        "waits.eq(present.any() | ends)",
        "waits.eq(present.any() | beat.last)",
        _TWO_LANES,
    ),
    Mutant(
        "encoder's blocks are one beat too short",
        "hdl/codec/nonzeros.py",
        "beat.last | number.all()",
        "beat.last | (number == BLOCK // self._lanes - 2)",
        _TWO_LANES,
    ),
    Mutant(
        "encoder's place in a block outlives a reset",
        "hdl/codec/nonzeros.py",
        "number = Signal(range(BLOCK // self._lanes))",
        "number = Signal(range(BLOCK // self._lanes), reset_less=True)",
        tested("sim/test_reset.py", "encoder-two_lanes"),
    ),
    Mutant(
        "encoder counts the gap from the region's start, not the block's",
        "hdl/codec/symbols.py",
        "Mux(item.last, 0, item.place + 1)",
        "Mux(item.last & item.mark.closes, 0, item.place + 1)",
        _TWO_LANES,
    ),
    Mutant(
        "encoder drops a mantissa bit without an escape",
        "hdl/codec/symbols.py",
        "(Const((1 << _REST) - 1) >> sent)",
        "(Const((1 << _REST) - 1) >> sent + 1)",
        _TWO_LANES,
    ),
    Mutant(
        "encoder codes the top mantissa bit where none is sent",
        "hdl/codec/symbols.py",
        "~dropped & ~((region.mantissa_bits == 0) & own[0])",
        "~dropped",
        _TWO_LANES,
    ),
    Mutant(
        "encoder has one bin too many",
        "hdl/codec/symbols.py",
        "placed.bin < BINS",
        "placed.bin <= BINS",
        _TWO_LANES,
    ),
    Mutant(
        "encoder sends no escape for a symbol without a code",
        "hdl/codec/code_table.py",
        "(symbol.symbol != ESCAPE) & (read.data.length != 0)",
        "symbol.symbol != ESCAPE",
        _TWO_LANES,
    ),
    Mutant(
        "encoder forgets the escape's code in a reset",
        "hdl/codec/code_table.py",
        "reset_less=True",
        "reset_less=False",
        _TWO_LANES,
    ),
    Mutant(
        "encoder takes the other slot's escape",
        "hdl/codec/code_table.py",
        "escapes[symbol.slot]",
        "escapes[~symbol.slot]",
        _TWO_LANES,
    ),
    Mutant(
        "encoder fills the last byte with zeros",
        "hdl/codec/bit_packer.py",
        "chunk.bits.eq(Mux(self.i.p.last, end, self.i.p.bits))",
        "chunk.bits.eq(self.i.p.bits)",
        _TWO_LANES,
    ),
    Mutant(
        "encoder gives a block up only where it takes more bytes than its elements",
        "hdl/codec/lengths.py",
        "length >= given.mark.count << 1",
        "length > given.mark.count << 1",
        _TWO_LANES,
    ),
    Mutant(
        "encoder adds an empty word to a block of whole words",
        "hdl/codec/lengths.py",
        "measured.p.has_none & full & ~held.last",
        "measured.p.has_none & full & ~held.last & (word.length == 0)",
        _TWO_LANES,
    ),
    Mutant(
        "encoder stalls where an element is in each beat",
        "hdl/codec/nonzeros.py",
        "depth: int = 32",
        "depth: int = 2",
        bench("encoder", "four_lanes"),
    ),
    Mutant(
        "packer keeps a block's rest for the next block",
        "hdl/codec/bit_packer.py",
        "with m.If(chunk.last):\n                    m.d.sync += begun.eq(0)",
        "with m.If(chunk.last & chunk.fills):\n                    m.d.sync += begun.eq(0)",
        _PACKER,
    ),
    Mutant(
        "packer overwrites a word that waits where a block ends",
        "hdl/codec/bit_packer.py",
        "with m.If(~self.o.valid | self.o.ready):",
        "with m.If(~self.o.valid | self.o.ready | (shifted.valid & chunk.last)):",
        _PACKER,
    ),
    Mutant(
        "packer begins a block where the last one ended",
        "hdl/codec/bit_packer.py",
        "at.eq(Mux(self.i.p.last, 0, behind[: len(at)]))",
        "at.eq(behind[: len(at)])",
        _PACKER,
    ),
    Mutant(
        "packer tells the bits of the chunk behind",
        "hdl/codec/bit_packer.py",
        "shifted.p.fill.eq(at_chunk)",
        "shifted.p.fill.eq(at)",
        _PACKER,
    ),
    Mutant(
        "packer gives the mark of the chunk behind",
        "hdl/codec/bit_packer.py",
        "shifted.p.mark.eq(chunk.mark)",
        "shifted.p.mark.eq(self.i.p.mark)",
        _PACKER,
    ),
    Mutant(
        "packer fills a byte with one more bit",
        "hdl/codec/bit_packer.py",
        "(-at)[:3])[: _BYTE - 1]",
        "(~at)[:3])[: _BYTE - 1]",
        _PACKER,
    ),
    Mutant(
        "packer gives a full word as late as one more bit comes",
        "hdl/codec/bit_packer.py",
        "fills.eq(behind[len(at)])",
        "fills.eq(behind > self._width)",
        _PACKER,
    ),
)

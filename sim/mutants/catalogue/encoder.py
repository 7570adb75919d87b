"""Mutants of the encoder's gateware."""

from .mutant import Mutant, bench

__all__ = ["MUTANTS"]

_TWO_LANES = bench("encoder", "two_lanes")

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
        "~dropped & ~((region.mantissa_bits == 0) & half_binade[0])",
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
)

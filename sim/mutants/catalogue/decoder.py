"""Mutants of the decoder."""

from .mutant import Mutant, compiled, proved

__all__ = ["MUTANTS"]

_FOUR_LANES = compiled("decoder", "four_lanes")
_UNPACKER = proved("bit_unpacker")

MUTANTS = (
    Mutant(
        "padding ends a block in any byte",
        "hdl/codec/scanner.py",
        "(is_last & (byte == last_byte) & (bit != 0))",
        "(bit != 0)",
        _FOUR_LANES,
    ),
    Mutant(
        "an element may end within a block's last byte, but for its end",
        "hdl/codec/scanner.py",
        "(byte == last_byte + 1) & (bit == 0)",
        "byte == last_byte + 1",
        _FOUR_LANES,
    ),
    Mutant(
        "the decoder takes another slot's table",
        "hdl/codec/scanner.py",
        "table.slot.eq(self.region.slot)",
        "table.slot.eq(0)",
        _FOUR_LANES,
    ),
    Mutant(
        "a region begins while elements of the one before it are put together",
        "hdl/codec/scanner.py",
        "~self.o.valid & ~self.in_use",
        "1",
        _FOUR_LANES,
    ),
    Mutant(
        "the gap of an escape is a bit short",
        "hdl/codec/decode_table.py",
        "Mux(kind == 0, 0, kind - 1)",
        "Mux(kind == 0, 0, kind - 1 - (kind == 13))",
        _FOUR_LANES,
    ),
    Mutant(
        "bits behind a short mantissa stay in the element",
        "hdl/codec/fields.py",
        "_FRACTION - n < self.region.mantissa_bits",
        "_FRACTION - n <= self.region.mantissa_bits",
        _FOUR_LANES,
    ),
    Mutant(
        "a bin below the half binade 0 is not noticed",
        "hdl/codec/fields.py",
        "found.below.eq(is_plain & half[-1])",
        "found.below.eq(0)",
        _FOUR_LANES,
    ),
    Mutant(
        "an element may stand at the place behind its block's last",
        "hdl/codec/placer.py",
        "beyond.eq(place > final)",
        "beyond.eq(place > final + 1)",
        _FOUR_LANES,
    ),
    Mutant(
        "elements behind a wrong one are put",
        "hdl/codec/placer.py",
        "fits.eq(valid & ~ends & ~below & ~beyond & (outcome == BlockOutcome.FINE))",
        "fits.eq(valid & ~ends & ~below & ~beyond)",
        _FOUR_LANES,
    ),
    Mutant(
        "an outcome that waits is replaced",
        "hdl/codec/placer.py",
        "valid & ~(at_end & self.o_block.valid)",
        "valid",
        _FOUR_LANES,
    ),
    Mutant(
        "unpacker shows a bit that has not come",
        "hdl/codec/bit_unpacker.py",
        "self.at <= self._width - self._ahead",
        "self.at <= self._width - self._ahead + 1",
        _UNPACKER,
    ),
    Mutant(
        "unpacker takes a group over bits that are shown",
        "hdl/codec/bit_unpacker.py",
        "only & (looked | (self.at >= self._before))",
        "only",
        _UNPACKER,
    ),
    Mutant(
        "unpacker waits for ever behind its last group",
        "hdl/codec/bit_unpacker.py",
        "(self.held == 0) | (only &",
        "(only &",
        _UNPACKER,
    ),
    Mutant(
        "unpacker counts on over a restart",
        "hdl/codec/bit_unpacker.py",
        "place.eq(0), fetched.eq(0)]",
        "place.eq(0)]",
        _UNPACKER,
    ),
    Mutant(
        "unpacker moves by the other step",
        "hdl/codec/bit_unpacker.py",
        "*ends[::-1]",
        "*ends",
        _UNPACKER,
    ),
    Mutant(
        "unpacker shows a column of the other group",
        "hdl/codec/bit_unpacker.py",
        "passed = number < Cat(at[-2:])",
        "passed = number <= Cat(at[-2:])",
        _UNPACKER,
    ),
    Mutant(
        "unpacker tells too much excess",
        "hdl/codec/bit_unpacker.py",
        "self.excess.eq(~Cat(at[:-2]))",
        "self.excess.eq(Cat(at[:-2]))",
        _UNPACKER,
    ),
    Mutant(
        "unpacker takes a group only where none is left",
        "hdl/codec/bit_unpacker.py",
        "only & (looked | (self.at >= self._before))",
        "only & looked & 0",
        _UNPACKER,
    ),
)

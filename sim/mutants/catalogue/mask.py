"""Mutants of the mask."""

from .mutant import Mutant, bench, tested

__all__ = ["MUTANTS"]

_TWO_LANES = bench("mask", "two_lanes")

MUTANTS = (
    Mutant(
        "mask drops what is larger than its base",
        "hdl/mask/mask.py",
        "kept = beyond[lane] | keep",
        "kept = ~beyond[lane] & keep",
        _TWO_LANES,
    ),
    Mutant(
        "mask takes all below the last bin for bin 0",
        "hdl/mask/mask.py",
        "Mux(found < BINS, found, BINS - 1)",
        "Mux(found < BINS, found, 0)",
        _TWO_LANES,
    ),
    Mutant(
        "mask's parameters change a beat too early",
        "hdl/mask/mask.py",
        "keep.eq(self.i_region.p.keep)",
        "keep.eq(Mux(self.i.p.last, 0, self.i_region.p.keep))",
        _TWO_LANES,
    ),
    Mutant(
        "golden mask reads the half binades of the other format",
        "models/mask.py",
        "fmt.mantissa_bits - 1",
        "fmt.mantissa_bits",
        tested("models/test_mask.py"),
    ),
)

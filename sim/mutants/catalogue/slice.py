"""Mutants of `slice`."""

from .mutant import Mutant, bench

__all__ = ["MUTANTS"]

MUTANTS = (
    Mutant(
        "what an INT4 product borrowed from its upper neighbour is not given back",
        "hdl/slice/products.py",
        "field + part[lane][FIELD - 1]",
        "field",
        bench("slice", "all_modes"),
    ),
    Mutant(
        "FP32's halves are multiplied crosswise only once",
        "hdl/slice/products.py",
        "part[1][: 2 * _HALF] + part[2][: 2 * _HALF]",
        "part[1][: 2 * _HALF] + part[1][: 2 * _HALF]",
        bench("slice", "all_modes"),
    ),
    Mutant(
        "the mode of the words behind decides what is taken from a multiplier",
        "hdl/slice/products.py",
        "delayed(m, self.mode, Products.LATENCY)",
        "delayed(m, self.mode, Products.LATENCY - 1)",
        bench("slice", "all_modes"),
    ),
    Mutant(
        "flags of FP16's second lane are those of the first",
        "hdl/slice/slice.py",
        "self.o.p.flags[lane].eq(number.flags)",
        "self.o.p.flags[lane].eq(numbers[0].flags)",
        bench("slice", "all_modes"),
    ),
)

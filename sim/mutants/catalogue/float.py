"""Mutants of `float`."""

from .mutant import Mutant, bench, compiled

__all__ = ["MUTANTS"]

MUTANTS = (
    Mutant(
        "a tie rounds away from zero",
        "hdl/arithmetic/float/round.py",
        "guard & (rest[:-1].any() | kept[0])",
        "guard",
        bench("float", "multiply_fp16"),
    ),
    Mutant(
        "underflow is told before rounding",
        "hdl/arithmetic/float/round.py",
        "tiny = ~kept[-1] & ~becomes_normal",
        "tiny = ~kept[-1]",
        compiled("float", "multiply_fp16"),
    ),
    Mutant(
        "a number is normalised past the smallest exponent",
        "hdl/arithmetic/float/round.py",
        "marked = self.i.significand | self._lowest(m, exponent)",
        "marked = self.i.significand",
        compiled("float", "multiply_fp16"),
    ),
    Mutant(
        "what is far above infinity does not overflow",
        "hdl/arithmetic/float/round.py",
        "top[: fmt.exponent_bits].all() | top[fmt.exponent_bits :].any()",
        "top[: fmt.exponent_bits].all()",
        compiled("float", "multiply_fp16"),
    ),
    Mutant(
        "what is shifted out of a summand is forgotten",
        "hdl/arithmetic/float/sum.py",
        "wide[width] | wide[:width].any()",
        "wide[width]",
        bench("float", "add_fp16"),
    ),
    Mutant(
        "a difference of equal numbers keeps its sign",
        "hdl/arithmetic/float/sum.py",
        "(magnitude == 0))),",
        "(magnitude != magnitude))),",
        bench("float", "add_fp32"),
    ),
    Mutant(
        "infinity times zero is infinity",
        "hdl/arithmetic/float/product.py",
        "nan = x.nan | y.nan | undefined",
        "nan = x.nan | y.nan",
        bench("float", "multiply_fp32"),
    ),
)

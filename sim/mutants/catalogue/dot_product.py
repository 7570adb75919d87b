"""Mutants of `dot_product`."""

from .mutant import Mutant, bench, compiled

__all__ = ["MUTANTS"]

MUTANTS = (
    Mutant(
        "a sum is used again a cycle too early",
        "hdl/dot_product/dot_product.py",
        "range(self.LOOP - 1)",
        "range(self.LOOP - 2)",
        bench("dot_product", "two_sums"),
    ),
    Mutant(
        "a sum begins with what the last one left",
        "hdl/dot_product/accumulator.py",
        "Mux(step.first, 0, found)",
        "found",
        bench("dot_product", "eight_sums"),
    ),
    Mutant(
        "what FP16's sum holds below the guard is forgotten",
        "hdl/dot_product/exact.py",
        "Cat(magnitude[:_GUARD].any(), magnitude[_GUARD:_TOP])",
        "Cat(magnitude[0], magnitude[_GUARD:_TOP])",
        compiled("dot_product", "sums_of_all"),
    ),
    Mutant(
        "FP16's sum has a guard, but no bit below it",
        "hdl/dot_product/exact.py",
        "+ _FMT.mantissa_bits) - 2",
        "+ _FMT.mantissa_bits) - 1",
        compiled("dot_product", "smallest_normal"),
    ),
    Mutant(
        "infinities of both signs are a positive one",
        "hdl/dot_product/exact.py",
        "exact.nan.eq(seen.nan | opposed)",
        "exact.nan.eq(seen.nan)",
        bench("dot_product", "eight_sums"),
    ),
    Mutant(
        "a sum of integers forgets that it has wrapped around",
        "hdl/dot_product/integers.py",
        "overflow = before[INTEGER_BITS] | wraps",
        "overflow = wraps",
        compiled("dot_product", "wrap"),
    ),
    Mutant(
        "flags of a sum of FP32 are those of its last term",
        "hdl/dot_product/floats.py",
        "flags.read(last) | raised",
        "raised",
        bench("dot_product", "eight_sums"),
    ),
    Mutant(
        "an upper number of INT4 is added to INT8's products",
        "hdl/dot_product/product_sum.py",
        "m.d.comb += upper.a[lane].eq(0)",
        "m.d.comb += upper.a[lane].eq(upper.b[lane][0])",
        bench("dot_product", "two_of_integers"),
    ),
    Mutant(
        "a lower number of INT4 has no sign",
        "hdl/dot_product/product_sum.py",
        "sign = low[-1].replicate(len(high))",
        "sign = (low[-1] & ~low[-1]).replicate(len(high))",
        bench("dot_product", "two_of_integers"),
    ),
    Mutant(
        "a sum begins with what is in the memory",
        "hdl/dot_product/integer_dot_product.py",
        "slot.returns.eq(~same & ~self.i.p.first)",
        "slot.returns.eq(~same)",
        bench("dot_product", "eight_of_integers"),
    ),
    Mutant(
        "a sum is another one's if nothing came in between",
        "hdl/dot_product/integer_dot_product.py",
        "        with m.If(taken):\n            m.d.sync += index",
        "        if True:\n            m.d.sync += index",
        bench("dot_product", "eight_of_integers"),
    ),
    Mutant(
        "a sum on its way into the memory is not waited for",
        "hdl/dot_product/integer_dot_product.py",
        "slot.returns & under_way.valid & (slot.index == under_way.index)",
        "slot.returns & under_way.valid & (slot.index != under_way.index)",
        bench("dot_product", "eight_of_integers"),
    ),
    Mutant(
        "a sum in the memory forgets that it has wrapped around",
        "hdl/dot_product/running_sum.py",
        "slot.returns & raised.bit_select(slot.index, 1)",
        "slot.returns & raised.bit_select(slot.index, 1) & slot.stays",
        compiled("dot_product", "tells_it_at_its_end"),
    ),
    Mutant(
        "a sum is told to have wrapped around by its sign alone",
        "hdl/dot_product/running_sum.py",
        "wraps = (signs[0] == signs[1]) & (self.o[-1] != signs[0])",
        "wraps = self.o[-1] != signs[0]",
        compiled("dot_product", "sums_of_integers"),
    ),
)

"""Mutants of `difference`."""

from .mutant import Mutant, bench, tested

__all__ = ["MUTANTS"]

_FILE = "hdl/difference/difference.py"
_TWO_LANES = bench("difference", "two_lanes")

MUTANTS = (
    Mutant(
        "difference takes a guess that is not finite for 0",
        _FILE,
        "self.present & self.a.finite & self.b.finite",
        "self.present & self.b.finite",
        _TWO_LANES,
    ),
    Mutant(
        "difference counts what is clamped beside a NaN",
        _FILE,
        "Mux(finite, self.a.clamped + self.b.clamped, 0)",
        "self.a.clamped + self.b.clamped",
        _TWO_LANES,
    ),
    Mutant(
        "difference takes zeros of either sign for equal words",
        _FILE,
        "(words[n] != words[n + 1])",
        "(words[n] != words[n + 1]) & (words[n][:31] | words[n + 1][:31]).any()",
        _TWO_LANES,
    ),
    Mutant(
        "difference sums too few bits",
        _FILE,
        "_COUNT_BITS = 31",
        "_COUNT_BITS = 5",
        _TWO_LANES,
    ),
    Mutant(
        "difference sums too few bits for a long pass",
        _FILE,
        "_COUNT_BITS = 31",
        "_COUNT_BITS = 18",
        tested("sim/test_difference.py", "long_pass"),
    ),
    Mutant(
        "difference's record comes before its last pair",
        _FILE,
        "waited == self.LATENCY - 2",
        "waited == self.LATENCY - 3",
        _TWO_LANES,
    ),
    Mutant(
        "difference looks at the last pair of a beat for the largest",
        _FILE,
        "Mux(first > last, first, last)",
        "last",
        bench("difference", "four_lanes"),
    ),
    Mutant(
        "difference begins with the rest of an odd pass",
        _FILE,
        "m.d.sync += second.eq(0)",
        "m.d.sync += second.eq(second)",
        bench("difference", "one_lane"),
    ),
    Mutant(
        "an element of a pair is clamped late in the compiled model",
        "models/difference_kernel.py",
        "np.int32(of_b >= limit)",
        "np.int32(of_b > limit)",
        tested("models/test_difference.py"),
    ),
)

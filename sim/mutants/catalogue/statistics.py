"""Mutants of `statistics`."""

from .mutant import Mutant, bench, compiled, tested

__all__ = ["MUTANTS"]

_STATISTICS = bench("statistics", "small")

MUTANTS = (
    Mutant(
        "rounding goes up from the middle",
        "hdl/statistics/quantise.py",
        "(guard & (sticky | kept[0]))",
        "guard",
        _STATISTICS,
    ),
    Mutant(
        "what falls out of the shift is forgotten",
        "hdl/statistics/quantise.py",
        "lost.eq(wide[:15].any()),",
        "lost.eq(0),",
        _STATISTICS,
    ),
    Mutant(
        "a large number of the other sign is clamped wrongly",
        "hdl/statistics/quantise.py",
        "Mux(negative_2, -magnitude, magnitude)",
        "Mux(negative_2 & ~clamped, -magnitude, magnitude)",
        _STATISTICS,
    ),
    Mutant(
        "products of unequal halves come in once to the fourth power",
        "hdl/statistics/power_sums.py",
        "(middle << 16)",
        "(middle << 15)",
        bench("statistics", "full"),
    ),
    Mutant(
        "the fourth powers' sum has too few bits for a long pass",
        "hdl/statistics/power_sums.py",
        "self._fourth(m, square) for square in squares], self.s4)",
        "self._fourth(m, square) for square in squares], self.s4[:79])",
        tested("sim/test_statistics.py", "long_pass"),
    ),
    Mutant(
        "histogram's energies have too few bits for a long pass",
        "hdl/statistics/histogram.py",
        "unsigned(count_bits + 16)",
        "unsigned(count_bits + 1)",
        tested("sim/test_statistics.py", "long_pass"),
    ),
    Mutant(
        "a counter that is just full has overflowed",
        "hdl/statistics/counts.py",
        "with m.If(total[self._bits :].any()):",
        "with m.If(total[self._bits :].any() | total[: self._bits].all()):",
        bench("statistics", "narrow_counters"),
    ),
    Mutant(
        "minimum of negative numbers has its order inverted",
        "hdl/statistics/extremes.py",
        "Mux(word[31], ~word, word | 0x8000_0000)",
        "Mux(word[31], word ^ 0x8000_0000, word | 0x8000_0000)",
        _STATISTICS,
    ),
    Mutant(
        "infinities count as finite",
        "hdl/statistics/extremes.py",
        "self.present[lane] & (word[23:31] != 255)",
        "self.present[lane]",
        _STATISTICS,
    ),
    Mutant(
        "histogram forgets that a bin was just written",
        "hdl/statistics/histogram.py",
        "bins.read_port(transparent_for=(write,))",
        "bins.read_port()",
        _STATISTICS,
    ),
    Mutant(
        "histogram forgets that a bin is being written",
        "hdl/statistics/histogram.py",
        "before.eq(write.data)",
        "before.eq(read.data)",
        _STATISTICS,
    ),
    Mutant(
        "histogram's rest grows a binade late",
        "hdl/statistics/histogram.py",
        "grows = ~number[0] & (number > 2)",
        "grows = number[0] & (number > 2)",
        _STATISTICS,
    ),
    Mutant(
        "histogram is not cleared after a reset",
        "hdl/statistics/histogram.py",
        "sweeping = Signal(init=1)",
        "sweeping = Signal(init=0)",
        _STATISTICS,
    ),
    Mutant(
        "halves of a word are swapped",
        "hdl/tensor_input/unpacker.py",
        "half = Mux(second, words",
        "half = Mux(~second, words",
        _STATISTICS,
    ),
    Mutant(
        "a tensor begins in the half where an odd one ended",
        "hdl/tensor_input/unpacker.py",
        "            m.d.sync += second.eq(0)\n",
        "",
        compiled("statistics", "small"),
    ),
    Mutant(
        "a subnormal half becomes a normal number",
        "hdl/tensor_input/unpacker.py",
        "exponent.eq(127 - bias + 1 - shift)",
        "exponent.eq(127 - bias - shift)",
        _STATISTICS,
    ),
    Mutant(
        "the last accumulators are read before they are done",
        "hdl/statistics/statistics.py",
        "max(Counts.LATENCY, PowerSums.LATENCY) + 1",
        "0",
        _STATISTICS,
    ),
    Mutant(
        "nothing but huge negative numbers counts as nothing",
        "hdl/statistics/extremes.py",
        "high[23:] == 0",
        "high[24:] == 0",
        compiled("statistics", "tiny"),
    ),
)

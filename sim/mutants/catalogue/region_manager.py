"""Bugs that are planted in `region_manager`."""

from .mutant import Mutant, bench, compiled, tested

__all__ = ["MUTANTS"]

_REGIONS = bench("region_manager", "tiny")
_AVERAGES = tested("models/test_region_averages.py")

MUTANTS = (
    Mutant(
        "the quotient's last bits are missing",
        "hdl/region_manager/ratio.py",
        "trial.eq((rest << 1) - divisor)",
        "trial.eq((rest << 1) - divisor - 1)",
        _REGIONS,
    ),
    Mutant(
        "a word decays with the wrong shift",
        "hdl/region_manager/words.py",
        'Word.N_SLOW: ("level", SLOW),',
        'Word.N_SLOW: ("level", FAST),',
        _REGIONS,
    ),
    Mutant(
        "the fast average is not brought to the slow one's bits",
        "hdl/region_manager/words.py",
        "right.eq(_HEADROOM - (SLOW - FAST))",
        "right.eq(_HEADROOM)",
        _REGIONS,
    ),
    Mutant(
        "sums are not halved where they are crowded",
        "hdl/region_manager/words.py",
        "2 * self.rescale + self.halve",
        "2 * self.rescale",
        _REGIONS,
    ),
    Mutant(
        "gain is weighed the wrong way round",
        "hdl/region_manager/judge.py",
        "b.eq(7 - self.confidence)",
        "b.eq(self.confidence)",
        _REGIONS,
    ),
    Mutant(
        "noise counts as quiet at any quarter",
        "hdl/region_manager/judge.py",
        "m.d.comb += scaled.eq(held << 10)",
        "m.d.comb += scaled.eq(held << 9)",
        compiled("region_manager", "tiny"),
    ),
    Mutant(
        "a dwell is an epoch too short",
        "hdl/region_manager/speculation.py",
        "settled = record.dwell == 0",
        "settled = record.dwell <= 1",
        compiled("region_manager", "tiny"),
    ),
    Mutant(
        "confidence goes below zero",
        "hdl/region_manager/manager.py",
        "Mux(confidence < 2, 0, confidence - 2)",
        "Mux(confidence < 1, 0, confidence - 2)",
        _REGIONS,
    ),
    Mutant(
        "the loss guard does not reset the noise's samples",
        "hdl/region_manager/cadence.py",
        "self.choice.samples.eq(0),\n                        self.choice.cadence",
        "self.choice.cadence",
        _REGIONS,
    ),
    Mutant(
        "cadence leaves its bounds",
        "hdl/region_manager/cadence.py",
        "with m.If(self.record.cadence < self.record.cadence_max):",
        "with m.If(self.record.cadence <= self.record.cadence_max):",
        compiled("region_manager", "tiny"),
    ),
    Mutant(
        "the epoch counter wraps",
        "hdl/region_manager/manager.py",
        "with m.If(step.epoch_end & (run.epoch != 65535)):",
        "with m.If(step.epoch_end):",
        _REGIONS,
    ),
    Mutant(
        "an update of an unconfigured region is taken",
        "hdl/region_manager/manager.py",
        "with m.Elif(~record.valid):",
        "with m.Elif(~record.valid & record.measured.any()):",
        _REGIONS,
    ),
    Mutant(
        "the first agreement is averaged with nothing",
        "models/region_averages.py",
        "ALPHA_SHIFTS = (0, 1, 2,",
        "ALPHA_SHIFTS = (1, 1, 2,",
        _AVERAGES,
    ),
    Mutant(
        "every update weighs as the first ones do",
        "models/region_averages.py",
        "2, 2, 3, 3, 3, 4)",
        "2, 2, 3, 3, 3, 3)",
        _AVERAGES,
    ),
    Mutant(
        "an update's agreement is above one",
        "models/region_averages.py",
        "if n * workers >= a:",
        "if n > a:",
        _AVERAGES,
    ),
    Mutant(
        "a logarithm has no fraction",
        "models/region_averages.py",
        "    return (place << LOGARITHM_BITS) + fraction",
        "    return place << LOGARITHM_BITS",
        _AVERAGES,
    ),
    Mutant(
        "the exponent counts once, though energies are squares",
        "models/region_manager.py",
        "(update.exponent << LOGARITHM_BITS + 1)",
        "(update.exponent << LOGARITHM_BITS)",
        _AVERAGES,
    ),
    Mutant(
        "the same, in gateware",
        "hdl/region_manager/manager.py",
        "octaves = p.words.place + (exponent << 1)",
        "octaves = p.words.place + exponent",
        _REGIONS,
    ),
    Mutant(
        "nothing is learnt as if it were something",
        "hdl/region_manager/manager.py",
        "p.held.eq(~(update.usable & update.a.any())),",
        "p.held.eq(~update.usable),",
        _REGIONS,
    ),
    Mutant(
        "α takes in what is held",
        "hdl/region_manager/manager.py",
        "with m.If(~p.held):\n            p.average_alpha(m)",
        "with m.If(1):\n            p.average_alpha(m)",
        _REGIONS,
    ),
    Mutant(
        "the loss guard fires at its threshold",
        "hdl/region_manager/manager.py",
        "p.fall + run.guard < 0",
        "p.fall + run.guard <= 0",
        compiled("region_manager", "tiny"),
    ),
    Mutant(
        "a rate wraps around",
        "hdl/region_manager/parts.py",
        "Mux(octaves < -32768, -32768, octaves)",
        "octaves",
        _REGIONS,
    ),
)

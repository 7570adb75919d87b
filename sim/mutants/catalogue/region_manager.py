"""Bugs that are planted in `region_manager`."""

from .mutant import Mutant, bench, compiled

__all__ = ["MUTANTS"]

_REGIONS = bench("region_manager", "tiny")

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
        'Word.N_SLOW: ("n", 6),',
        'Word.N_SLOW: ("n", 4),',
        _REGIONS,
    ),
    Mutant(
        "the fast average is not brought to the slow one's bits",
        "hdl/region_manager/words.py",
        "right.eq(_HEADROOM + excess - Mux(_is_fast(coming.word), _FAST, 0))",
        "right.eq(_HEADROOM + excess)",
        _REGIONS,
    ),
    Mutant(
        "sums are not halved where they are crowded",
        "hdl/region_manager/words.py",
        "2 * self.rescale + (self.halve & is_sum)",
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
        "with m.Elif(~record.valid & record.scaled):",
        _REGIONS,
    ),
)

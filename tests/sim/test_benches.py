"""Runs every unit's cocotb bench on its variants and simulators."""

import os

import pytest

from adagrain.sim.simulators import runner

RUNS = [
    (unit, variant, simulator)
    for unit in runner.units()
    for simulator in runner.SIMULATORS
    for variant in runner.variants(unit, simulator)
]


#: Units whose benches CI runs on Icarus, too; others take most of a minute there.
ON_ICARUS = ("float", "queue", "uart")

#: Variants that CI runs as compiled RTL, or on Icarus alone, and others of theirs on cocotb.
COVERED = {
    "coprocessor": ("tiny", "small", "granular", "integers", "codec", "full"),
    "decoder": ("one_lane", "four_lanes"),
    "difference": ("one_lane", "four_lanes"),
    "dot_product": ("two_sums", "two_of_integers"),
    "encoder": ("one_lane", "four_lanes"),
    "float": ("multiply_fp16", "add_fp16", "narrow"),
    "granularity_unit": ("one_slice", "integers", "integers_four_slices"),
    "link": ("small", "single"),
    "mask": ("one_lane", "four_lanes"),
    "precision_controller": ("many_channel_groups",),
    "region_manager": ("tiny",),
    "rescale": ("integers", "rows_of_integers"),
    "statistics": ("tiny", "full", "narrow_counters"),
    "tensor_input": ("one_lane", "four_lanes", "one_format"),
}


def is_slow(unit: str, variant: str, simulator: str) -> bool:
    """True if a run is left to ``make test-full``."""
    covered = simulator == "verilator" and variant in COVERED.get(unit, ())
    return covered or (simulator == "icarus" and unit not in ON_ICARUS)


def firsts() -> dict[str, str]:
    """The first variant of each unit that CI runs, which is benched with a fixed seed as well."""
    quick = [run[:2] for run in RUNS if run[2] == "verilator" and not is_slow(*run)]
    return dict(reversed(quick))


#: Units whose compiled RTL is given the same seed each time, too; their benches take longest.
FIXED_AS_RTL = (
    *("coprocessor", "decoder", "difference", "dot_product", "encoder", "granularity_unit"),
    *("mask", "statistics", "tensor_input"),
)

#: Of a bench's cases, those that are run with a new seed and with a fixed one: they take most of
#: the time, and compiled RTL is given many more.
SHARES = (1.0, 1.0) if os.environ.get("ADAGRAIN_FULL") == "1" else (0.5, 0.25)


@pytest.mark.parametrize(
    ("unit", "variant", "simulator"),
    [pytest.param(*run, marks=pytest.mark.full if is_slow(*run) else ()) for run in RUNS],
)
def test_bench(unit: str, variant: str, simulator: runner.Simulator) -> None:
    """With a seed that a failure tells."""
    if reason := runner.missing(simulator):
        pytest.skip(reason)
    assert runner.run(unit, variant, simulator, share=SHARES[0]).tests > 0


@pytest.mark.parametrize(
    ("unit", "variant"),
    [
        pytest.param(*first, marks=pytest.mark.full if first[0] in FIXED_AS_RTL else ())
        for first in firsts().items()
    ],
)
def test_bench_with_a_fixed_seed(unit: str, variant: str) -> None:
    """A bench finds again what it finds: a failure is the last change's."""
    if reason := runner.missing("verilator"):
        pytest.skip(reason)
    assert runner.run(unit, variant, seed=20, share=SHARES[1]).tests > 0

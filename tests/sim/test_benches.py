"""Runs every unit's cocotb bench on its variants and simulators."""

import pytest

from adagrain.sim import runner

RUNS = [
    (unit, variant, simulator)
    for unit in runner.units()
    for simulator in runner.SIMULATORS
    for variant in runner.variants(unit, simulator)
]


#: Units that take most of a minute on Icarus; CI runs their benches on Verilator alone.
SLOW = ("coprocessor", "dot_product", "granularity_unit", "rescale")

#: Variants of which CI runs larger ones, and these as compiled RTL.
COVERED = (("coprocessor", "tiny"), ("coprocessor", "small"))


def is_slow(unit: str, variant: str, simulator: str) -> bool:
    """Whether a run is left to ``make test-full``."""
    return (unit in SLOW and simulator == "icarus") or (unit, variant) in COVERED


def is_first(unit: str, variant: str, simulator: str) -> bool:
    """Whether a run is of a unit's first variant, which is benched with a fixed seed as well."""
    return simulator == "verilator" and variant == runner.variants(unit)[0]


@pytest.mark.parametrize(
    ("unit", "variant", "simulator"),
    [pytest.param(*run, marks=pytest.mark.full if is_slow(*run) else ()) for run in RUNS],
)
def test_bench(unit: str, variant: str, simulator: runner.Simulator) -> None:
    """With a seed that a failure tells."""
    if reason := runner.missing(simulator):
        pytest.skip(reason)
    assert runner.run(unit, variant, simulator).tests > 0


@pytest.mark.parametrize(
    ("unit", "variant"),
    [run[:2] for run in RUNS if is_first(*run) and not is_slow(*run)],
)
def test_bench_with_a_fixed_seed(unit: str, variant: str) -> None:
    """What it finds, it finds again: a failure is the last change's."""
    if reason := runner.missing("verilator"):
        pytest.skip(reason)
    assert runner.run(unit, variant, seed=20).tests > 0

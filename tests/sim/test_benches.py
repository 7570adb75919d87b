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


@pytest.mark.parametrize(
    ("unit", "variant", "simulator"),
    [
        pytest.param(*r, marks=pytest.mark.full if r[0] in SLOW and r[2] == "icarus" else ())
        for r in RUNS
    ],
)
def test_bench(unit: str, variant: str, simulator: runner.Simulator) -> None:
    if reason := runner.missing(simulator):
        pytest.skip(reason)
    assert runner.run(unit, variant, simulator).tests > 0

"""Runs every unit's cocotb bench on its variants and simulators."""

import pytest

from adagrain.sim import runner

RUNS = [
    (unit, variant, simulator)
    for unit in runner.units()
    for simulator in runner.SIMULATORS
    for variant in runner.variants(unit, simulator)
]


@pytest.mark.parametrize(("unit", "variant", "simulator"), RUNS)
def test_bench(unit: str, variant: str, simulator: runner.Simulator) -> None:
    if reason := runner.missing(simulator):
        pytest.skip(reason)
    assert runner.run(unit, variant, simulator).tests > 0

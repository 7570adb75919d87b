"""The self-test of every build that a board may have, as RTL."""

from dataclasses import replace

import pytest
from matrices import GRANULAR

import adagrain
from adagrain.models.interface.configuration import PRESETS, Configuration, configuration
from adagrain.models.interface.formats import FormatCode
from adagrain.models.interface.precision import INTEGERS
from adagrain.sim.simulators import runner

#: The widest build, but for what its width does not touch.
NARROW = configuration(
    "wide",
    lanes=1,
    formats=(FormatCode.FP32,),
    powers=2,
    regions=8,
    operands=64,
    units=("statistics", "region_manager", "granularity_unit"),
)
#: One that other tests have compiled; the widest; that of integers with the fewest slices of which
#: a row's first word is full before its last sum is taken.
SMALL_BUILDS = {
    "whole": GRANULAR,
    "wide": NARROW,
    "integers": replace(NARROW, slices=8, precisions=INTEGERS),
}


def check(built: Configuration) -> None:
    if reason := runner.missing("verilator"):
        pytest.skip(reason)
    with adagrain.open_device("sim:", built) as device:
        report = device.selftest(seed=3)
        longest = device.counters()["decision_cycles"]
    assert report.passed, [check for check in report.checks if not check.passed]
    if "region_manager" in built.units:
        assert 16 < longest <= built.decision_cycles
    else:
        assert longest == 0


@pytest.mark.parametrize(
    "name",
    [n if n == "whole" else pytest.param(n, marks=pytest.mark.full) for n in SMALL_BUILDS],
)
def test_small_builds_pass_their_selftest(name: str) -> None:
    check(SMALL_BUILDS[name])


@pytest.mark.full
@pytest.mark.parametrize("preset", PRESETS)
def test_every_preset_passes_its_selftest(preset: str) -> None:
    check(PRESETS[preset])

"""When the golden Region Manager lets a region speculate: dwell, ways back, the seed's rules."""

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from single_region import Region

from adagrain.models.interface.records import pack
from adagrain.models.interface.units.region_manager import (
    RegionStep,
    SpeculationPolicy,
    SpeculationState,
)

GLOBAL, HYBRID, FULL = SpeculationState
energies = st.integers(0, 2**56 - 1)

AGREES = {"a": 2**40, "n": 2**38 + 2**37, "stall": 10_000, "trials": 8, "accepts": 8}
"""α = 0.75 for two workers, and all guesses accepted."""
REJECTS = AGREES | {"accepts": 0}


def climb(region: Region) -> list[int]:
    """States while everything speaks for speculation, until FULL."""
    states = []
    for _ in range(100):
        states.append(region.update(**AGREES)["state"])
        if states[-1] == FULL:
            return states
    raise AssertionError(f"never FULL: {states}")


def test_cost_aware_climbs_through_hybrid_and_comes_back() -> None:
    region = Region({}, dwell=3)
    states = climb(region)
    assert sorted(states) == states
    assert states[:2] == [GLOBAL, HYBRID]
    assert states.count(HYBRID) == 4  # three decision epochs of dwell, then the next may change
    fall = [region.update(**REJECTS)["state"] for _ in range(4)]
    assert fall[:2] == [FULL, HYBRID]
    assert fall[-1] == GLOBAL
    assert region.record["dwell_length"] == 12
    assert climb(region)[-1] == FULL


def test_demotion_doubles_the_dwell_up_to_255() -> None:
    region = Region({}, dwell=100)
    lengths = []
    for _ in range(3):
        while region.update(**AGREES)["state"] == GLOBAL:
            pass
        while region.update(**REJECTS)["state"] != GLOBAL:
            pass
        lengths.append(region.record["dwell_length"])
    assert lengths == [200, 255, 255]


def test_no_gain_no_speculation() -> None:
    region = Region({})
    states = {region.update(**AGREES | {"stall": 100, "redo": 200})["state"] for _ in range(50)}
    assert states == {GLOBAL}


def test_hybrid_gain_follows_alpha_by_one_sixteenth() -> None:
    region = Region({}, dwell=255)
    gains = [region.update(**AGREES)["gain"] for _ in range(4)]
    assert gains == [0, 12, 12, 12]
    gains = [region.update(a=2**40, n=2**38 + 2**36, stall=10_000)["gain"] for _ in range(40)]
    assert all(before - after in (0, 1) for before, after in pairwise(gains))
    assert gains[-1] == 10


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(energies, energies, st.integers(0, 8)), min_size=30, max_size=60))
def test_state_does_not_flap(trace: list[tuple[int, int, int]]) -> None:
    region = Region({}, dwell=4)
    waits = 0
    for a, n, accepts in trace:
        before = region.record["state"]
        state = region.update(a=a, n=n, accepts=accepts, trials=8, stall=1000)["state"]
        if state > before:
            assert waits == 0, "promoted within its dwell"
        waits = max(0, waits - 1)
        if state != before:
            waits = region.record["dwell"]
            assert waits >= 4


@pytest.mark.parametrize(
    ("policy", "expected"),
    [(SpeculationPolicy.ALWAYS, (FULL, 16, 65535)), (SpeculationPolicy.NEVER, (GLOBAL, 0, 0))],
)
def test_fixed_policies(policy: SpeculationPolicy, expected: tuple[int, int, int]) -> None:
    decision = Region({"policy": policy}).update(**REJECTS)
    assert (decision["state"], decision["gain"], decision["percentage"]) == expected


@pytest.mark.parametrize(
    ("slow_rate", "noisy", "expected"),
    [(True, True, FULL), (False, False, GLOBAL), (True, False, HYBRID), (False, True, HYBRID)],
)
def test_seed_rule_table(slow_rate: bool, noisy: bool, expected: int) -> None:
    """Variance and divergence are one quantity between nodes: both follow α."""
    region = Region({"policy": SpeculationPolicy.SEED_LITERAL}, workers=4)
    for loss in range(40):
        region.table.step(
            pack(RegionStep, loss=2**20 if slow_rate else 2**20 >> loss // 4, loss_valid=1), b""
        )
    decision = region.update(a=2**40, n=2**36 if noisy else 2**38)
    assert decision["state"] == expected
    tenth = 6554 if noisy else -6554
    assert decision["percentage"] == {FULL: 65535, GLOBAL: 0, HYBRID: 32768 + tenth}[expected]


def test_seed_comes_back_from_full_and_global() -> None:
    region = Region({"policy": SpeculationPolicy.SEED_LITERAL}, workers=4, rate=655)
    states = []
    for loss, n in [(2**20, 2**36)] * 30 + [(2**10, 2**36)] * 10 + [(2**9, 2**38)] * 60:
        states.append(region.update(a=2**40, n=n, loss=loss)["state"])
    assert set(states) == {FULL, HYBRID, GLOBAL}
    assert states[0] == FULL
    states = [region.update(a=2**40, n=2**36, loss=2**9)["state"] for _ in range(40)]
    assert states[0] == GLOBAL
    assert HYBRID in states


def at_half(**parameters: int) -> dict[str, int]:
    """A decision of the seed's rules at α = 1/2 of two workers, while the loss falls."""
    region = Region({"policy": SpeculationPolicy.SEED_LITERAL}, **parameters)
    for loss in range(40):
        region.table.step(pack(RegionStep, loss=2**20 >> loss // 4, loss_valid=1), b"")
    return region.update(a=2**40, n=2**38)


@pytest.mark.parametrize(
    ("variance", "above", "divergence", "expected"),
    [
        (511, 1, 32766, FULL),
        (512, 1, 32766, HYBRID),
        (511, 1, 32767, HYBRID),
        (511, 0, 32766, HYBRID),
        (513, -1, 32768, GLOBAL),
        (512, -1, 32768, HYBRID),
        (513, -1, 32767, HYBRID),
        (513, 0, 32768, HYBRID),
    ],
)
def test_seed_rule_at_its_thresholds(
    variance: int, above: int, divergence: int, expected: SpeculationState
) -> None:
    """A variance of twice the mean's square, a divergence of 32767; the threshold of the loss rate
    is so far above that rate."""
    usual = at_half()
    assert usual["alpha"] == 32768
    assert usual["loss_rate"] > 0
    rate = usual["loss_rate"] + above
    found = at_half(variance=variance, rate=rate, divergence=divergence)
    assert found["state"] == expected

"""The golden Region Manager: exact fractions, ranges, dwell, ways back, the seed's rule table."""

import math
from fractions import Fraction
from itertools import pairwise

import pytest
from amaranth.lib import data
from hypothesis import given, settings
from hypothesis import strategies as st

from adagrain.models.records import (
    CadencePolicy,
    Decision,
    DecisionStatus,
    Policy,
    RegionParameters,
    RegionRecord,
    RegionStep,
    RegionUpdate,
    SpeculationState,
    pack,
    size,
    unpack,
)
from adagrain.models.region_manager import RegionTable, default_parameters, region_record
from adagrain.sim.region_manager.traffic import runs

GLOBAL, HYBRID, FULL = SpeculationState
energies = st.integers(0, 2**56 - 1)


class Region:
    """A table of one region, fed field by field."""

    def __init__(self, record: dict[str, int], workers: int = 2, **parameters: int) -> None:
        self.table = RegionTable(1)
        self.table.write_words(0, region_record(**record))
        self.table.parameters = default_parameters(workers) | parameters

    def update(self, **fields: int) -> dict[str, int]:
        head = {name: fields.pop(name) for name in ("loss", "epoch_end") if name in fields}
        if "loss" in head:
            head["loss_valid"] = 1
        update = {"usable": 1, "decide": 1, "exponent": 120} | fields
        octets = self.table.step(pack(RegionStep, **head), pack(RegionUpdate, **update))
        return unpack(Decision, octets)

    @property
    def record(self) -> dict[str, int]:
        return unpack(RegionRecord, self.table.read_words(0, 8))


def unpack_all(layout: data.Layout, octets: bytes) -> list[dict[str, int]]:
    width = size(layout)
    return [unpack(layout, octets[at : at + width]) for at in range(0, len(octets), width)]


@given(a=energies, n=energies, workers=st.integers(1, 1024))
def test_alpha_is_the_fraction_of_the_normalised_energies(a: int, n: int, workers: int) -> None:
    decision = Region({}, workers).update(a=a, n=n)
    if decision["held"]:
        assert decision["alpha"] == 0
        return
    exact = min(Fraction(n * workers, a), Fraction(65535, 65536))
    error = abs(Fraction(decision["alpha"], 65536) - exact)
    assert error <= Fraction(1, 65536) + (exact + workers) / 2**31


@given(a=st.integers(1, 2**28 - 1), n=st.integers(0, 2**28 - 1), workers=st.integers(1, 1024))
def test_alpha_of_small_energies_is_exact(a: int, n: int, workers: int) -> None:
    decision = Region({}, workers).update(a=a, n=n)
    assert decision["alpha"] == min(65535, int(Fraction(n * workers, a) * 65536))


@pytest.mark.parametrize("rise", [-7, -3, -1, 0, 1, 5, 7])
def test_sums_are_brought_to_another_exponent(rise: int) -> None:
    region = Region({})
    region.update(a=2**40, n=2**38 + 2**20, exponent=120)
    region.update(a=7, n=5, exponent=120 + rise)
    record = region.record
    assert record["samples"] == 2
    assert record["a_sum"] == 2**40 / Fraction(4) ** rise + 7
    assert record["n_sum"] == (2**38 + 2**20) / Fraction(4) ** rise + 5


@pytest.mark.parametrize("rise", [-8, 8, 100, -100])
def test_sums_start_anew_after_a_leap_of_the_exponent(rise: int) -> None:
    region = Region({})
    region.update(a=999, n=100, exponent=120)
    region.update(a=50, n=20, exponent=120 + rise)
    record = region.record
    assert (record["samples"], record["a_sum"], record["n_sum"]) == (1, 50, 20)


def test_sums_start_anew_where_they_would_overflow() -> None:
    region = Region({})
    region.update(a=2**55, n=2**54, exponent=120)
    region.update(a=7, n=3, exponent=119)
    assert region.record["samples"] == 2
    region = Region({"a_sum": 2**61, "samples": 4, "exponent": 120})
    region.update(a=7, n=3, exponent=119)
    assert region.record["samples"] == 1
    assert region.record["a_sum"] == 7


def test_crowded_sums_are_halved_together() -> None:
    region = Region({})
    for _ in range(200):
        region.update(a=2**56 - 1, n=2**55 - 1)
    record = region.record
    assert record["samples"] == 200
    assert 2**60 < record["a_sum"] < 2**62
    assert abs(Fraction(record["n_sum"], record["a_sum"]) - Fraction(1, 2)) < Fraction(1, 10**9)


@pytest.mark.parametrize(
    ("fields", "status"),
    [
        ({"region": 1}, DecisionStatus.BAD_REGION),
        ({"region": 65535}, DecisionStatus.BAD_REGION),
        ({"a": 2**56}, DecisionStatus.BAD_ENERGY),
        ({"n": 2**64 - 1}, DecisionStatus.BAD_ENERGY),
    ],
)
def test_bad_updates_change_nothing(fields: dict[str, int], status: DecisionStatus) -> None:
    region = Region({})
    before = region.record
    decision = region.update(**{"a": 5, "n": 1, "stall": 9} | fields)
    expected = dict.fromkeys(decision, 0) | {"region": fields.get("region", 0), "status": status}
    assert decision == expected
    assert region.record == before


def test_unconfigured_region_is_refused() -> None:
    region = Region({"valid": 0})
    assert region.update(a=5, n=1)["status"] == DecisionStatus.NOT_CONFIGURED


@pytest.mark.parametrize("workers", [0, 1025, 65535])
def test_workers_outside_the_range(workers: int) -> None:
    region = Region({}, workers=2)
    region.table.parameters = region.table.parameters | {"workers": workers}
    with pytest.raises(ValueError, match=f"workers must be from 1 to 1024, not {workers}"):
        region.update(a=1)
    with pytest.raises(ValueError, match=f"workers must be from 1 to 1024, not {workers}"):
        default_parameters(workers)


def test_unusable_energies_are_left_out() -> None:
    region = Region({})
    region.update(a=1000, n=400)
    before = region.record
    decision = region.update(a=5, n=0, usable=0, decide=0, stall=160)
    assert decision["held"]
    assert decision["alpha"] == before["alpha"] >> 4
    assert region.record == before | {"stall": 160}


# Speculation

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
    assert states.count(HYBRID) == 4  # three epochs of dwell, then the next may change
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
    ("policy", "expected"), [(Policy.ALWAYS, (FULL, 16, 65535)), (Policy.NEVER, (GLOBAL, 0, 0))]
)
def test_fixed_policies(policy: Policy, expected: tuple[int, int, int]) -> None:
    decision = Region({"policy": policy}).update(**REJECTS)
    assert (decision["state"], decision["gain"], decision["percentage"]) == expected


@pytest.mark.parametrize(
    ("slow_rate", "noisy", "expected"),
    [(True, True, FULL), (False, False, GLOBAL), (True, False, HYBRID), (False, True, HYBRID)],
)
def test_seed_rule_table(slow_rate: bool, noisy: bool, expected: int) -> None:
    """Variance and divergence are one quantity between nodes: both follow α."""
    region = Region({"policy": Policy.SEED_LITERAL}, workers=4)
    for loss in range(40):
        region.table.step(
            pack(RegionStep, loss=2**20 if slow_rate else 2**20 >> loss // 4, loss_valid=1), b""
        )
    decision = region.update(a=2**40, n=2**36 if noisy else 2**38)
    assert decision["state"] == expected
    tenth = 6554 if noisy else -6554
    assert decision["percentage"] == {FULL: 65535, GLOBAL: 0, HYBRID: 32768 + tenth}[expected]


def test_seed_comes_back_from_full_and_global() -> None:
    region = Region({"policy": Policy.SEED_LITERAL}, workers=4, rate=655)
    states = []
    for loss, n in [(2**20, 2**36)] * 30 + [(2**10, 2**36)] * 10 + [(2**9, 2**38)] * 60:
        states.append(region.update(a=2**40, n=n, loss=loss)["state"])
    assert set(states) == {FULL, HYBRID, GLOBAL}
    assert states[0] == FULL
    states = [region.update(a=2**40, n=2**36, loss=2**9)["state"] for _ in range(40)]
    assert states[0] == GLOBAL
    assert HYBRID in states


# Cadence

NOISY = {"a": 2**40, "n": 2**38 + 2**30}
"""For two workers, α just above ½: noise without signal."""


def test_noise_lengthens_by_octaves_with_dwell() -> None:
    region = Region({"cadence_policy": CadencePolicy.NOISE, "cadence_max": 3}, noise_samples=1)
    cadences = [region.update(**NOISY | {"n": 2**39 + 2**30})["cadence"] for _ in range(4)]
    assert cadences == [0, 0, 0, 0]
    noise = {"a": 2**40, "n": 2**39 // 2 + 2**30}
    cadences = [region.update(**noise)["cadence"] for _ in range(12)]
    assert max(cadences) == 3
    assert all(after - before in (0, 1) for before, after in pairwise(cadences))
    assert cadences.count(1) == cadences.count(2) == 3


def test_agreement_shortens() -> None:
    region = Region(
        {"cadence_policy": CadencePolicy.NOISE, "cadence": 2, "cadence_max": 2}, noise_samples=1
    )
    cadences = [region.update(a=2**40, n=2**39)["cadence"] for _ in range(6)]
    assert cadences == [1, 1, 1, 0, 0, 0]


@given(
    noise=st.integers(0, 2**20), signal=st.integers(1, 2**20), workers=st.sampled_from([2, 4, 8])
)
def test_noise_verdict_is_the_ratio_of_noise_to_signal(
    noise: int, signal: int, workers: int
) -> None:
    """A = W·(signal + noise) and N = signal + noise/W, as independent workers have them."""
    record = {"cadence_policy": CadencePolicy.NOISE, "cadence": 1}
    region = Region(record, workers, noise_samples=1)
    n = signal * workers + noise
    cadence = region.update(a=workers**2 * (signal + noise), n=n)["cadence"]
    ratio = Fraction(noise, signal * workers)
    if ratio > Fraction(101, 100):
        assert cadence == 2
    elif ratio < Fraction(99, 400):
        assert cadence == 0
    elif Fraction(101, 400) < ratio < Fraction(99, 100):
        assert cadence == 1


def test_phase_policy_waits_for_its_epoch() -> None:
    region = Region({"cadence_policy": CadencePolicy.PHASE, "phase_epoch": 3})
    assert [region.update(a=9, n=3, epoch_end=1)["cadence"] for _ in range(4)] == [0, 0, 2, 2]


def test_loss_guard_halves() -> None:
    record = {"cadence_policy": CadencePolicy.NOISE, "cadence": 2}
    region = Region(record, noise_samples=200, guard=200)
    for _ in range(50):
        assert not region.update(a=9, n=4, loss=65536)["guarded"]
    decisions = [region.update(a=9, n=4, loss=4 * 65536) for _ in range(3)]
    assert [decision["guarded"] for decision in decisions] == [1, 1, 1]
    assert [decision["cadence"] for decision in decisions] == [1, 0, 0]


def test_nothing_is_judged_without_energy() -> None:
    record = {"cadence_policy": CadencePolicy.NOISE, "cadence": 1}
    region = Region(record, noise_samples=1)
    for _ in range(5):
        decision = region.update(a=0, n=0)
    assert decision["held"]
    assert decision["cadence"] == 1
    assert region.record["samples"] == 5


# The table


def test_random_runs_stay_in_range() -> None:
    checked = 0
    for run in runs(7, 20, 16, 30):
        table = RegionTable(16)
        table.parameters = unpack(RegionParameters, run.parameters)
        table.write_words(0, run.table)
        records = unpack_all(RegionRecord, run.table)
        if any(record["gain"] > 16 for record in records):
            continue  # rubbish on purpose
        for head, updates in run.steps:
            for decision in unpack_all(Decision, table.step(head, updates)):
                record = records[decision["region"] % 16]
                assert decision["state"] in (GLOBAL, HYBRID, FULL)
                assert decision["gain"] <= 16
                if decision["status"] == DecisionStatus.OK:
                    assert record["cadence_min"] <= decision["cadence"] <= record["cadence_max"]
                    checked += 1
    assert checked > 1000


def test_words_keep_what_is_written() -> None:
    table = RegionTable(4)
    octets = bytes(range(64)) * 2
    table.write_words(8, octets)
    assert table.read_words(0, 32) == bytes(64) + octets + bytes(64)
    table.parameters = default_parameters(2)
    table.step(bytes(size(RegionStep)), pack(RegionUpdate, region=1, a=2**60))
    assert table.read_words(8, 16) == octets
    with pytest.raises(ValueError, match="words must be from 0 to 31, not 31 to 32"):
        table.read_words(31, 2)
    with pytest.raises(ValueError, match="whole words of 8, not 9"):
        table.write_words(0, bytes(9))


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"cadence": 3}, "cadence must be from cadence_min 0 to cadence_max 2, not 3"),
        ({"policy": 4}, "policy must be one of 0 .NEVER., .*, not 4"),
        ({"cadence_policy": 3}, "cadence_policy must be one of .*, not 3"),
        ({"state": 3}, "state must be one of .*, not 3"),
        ({"gain": 17}, "gain must be from 0 to 16 sixteenths, not 17"),
        ({"confidence": 8}, "confidence must be from 0 to 7, not 8"),
        ({"speed": 1}, "field must be one of .*, not 'speed'"),
    ],
)
def test_contradictory_records_are_refused(fields: dict[str, int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        region_record(**fields)


@pytest.mark.parametrize("workers", [1, 2, 3, 8, 256, 1024])
def test_default_parameters_fit_and_rise(workers: int) -> None:
    parameters = default_parameters(workers)
    assert unpack(RegionParameters, pack(RegionParameters, **parameters))["workers"] == workers
    assert 65536 // workers - 1 <= parameters["t0"] <= parameters["t1"] <= parameters["t2"]


@pytest.mark.parametrize("workers", [2, 3, 8])
def test_default_parameters_are_those_of_the_page(workers: int) -> None:
    """Where each worker's energy is 1 and f of it is signal, α is N = f + (1 − f)/W."""

    def agreement(share: Fraction) -> Fraction:
        return share + (1 - share) / workers

    half = agreement(Fraction(1, 2))
    variance = (workers - half * workers) / (half * (workers - 1))
    wanted: dict[str, float] = {
        "workers": workers,
        "t0": 65536 * agreement(Fraction(15, 100)),
        "t1": 65536 * agreement(Fraction(30, 100)),
        "t2": 65536 * half,
        "rate": 1024 * math.log2(1.01),
        "variance": 256 * variance,
        "medium_variance": 256 * variance,
        "divergence": 65535 - 65536 * half,
        "noise": 256 * workers,
        "guard": 1024 * math.log2(2),
        "noise_samples": 16,
        "dwell": 8,
    }
    found = default_parameters(workers)
    assert found == pytest.approx(wanted, abs=0.51)

"""The golden Region Manager: exact fractions, sums, statuses, the table, its parameters."""

import math
import re
from fractions import Fraction

import numpy as np
import pytest
from amaranth.lib import data
from hypothesis import given
from hypothesis import strategies as st
from single_region import Region

from adagrain.models.interface.records import pack, size, unpack
from adagrain.models.interface.units.region_manager import (
    Decision,
    DecisionStatus,
    RegionParameters,
    RegionRecord,
    RegionStep,
    RegionUpdate,
    SpeculationPolicy,
    SpeculationState,
)
from adagrain.models.region_manager.settings import speculation_thresholds
from adagrain.models.region_manager.table import RegionTable, default_parameters, region_record
from adagrain.sim.benches.region_manager.traffic import runs

GLOBAL, HYBRID, FULL = SpeculationState
energies = st.integers(0, 2**56 - 1)


def unpack_all(layout: data.Layout, raw: bytes) -> list[dict[str, int]]:
    width = size(layout)
    return [unpack(layout, raw[at : at + width]) for at in range(0, len(raw), width)]


@given(a=energies, n=energies, workers=st.integers(1, 1024))
def test_alpha_is_the_fraction_of_the_normalised_energies(a: int, n: int, workers: int) -> None:
    decision = Region({}, workers).update(a=a, n=n)
    if decision["alpha_held"]:
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


def test_sums_near_overflow_are_halved_together() -> None:
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
    assert decision["alpha_held"]
    assert decision["alpha"] == before["alpha"] >> 4
    assert region.record == before | {"stall": 160}


def test_random_runs_stay_in_range() -> None:
    checked = 0
    for run in runs(7, 20, 16, 30):
        table = RegionTable(16)
        table.parameters = unpack(RegionParameters, run.parameters)
        table.write(0, run.table)
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


def test_decisions_are_the_same_without_records() -> None:
    for run in runs(8, 10, 16, 30):
        packed, fields = RegionTable(16), RegionTable(16)
        for table in (packed, fields):
            table.settings = run.parameters
            table.write(0, run.table)
        for head, updates in run.steps:
            told = unpack_all(RegionUpdate, updates)
            decided = fields.decide(unpack(RegionStep, head), told)
            assert decided == unpack_all(Decision, packed.step(head, updates))
            for one in decided:
                assert [*one] == [*unpack(Decision, bytes(size(Decision)))]  # in their order
                assert {*map(type, one.values())} == {int}
        assert fields.read(0, 64) == packed.read(0, 64)


def test_words_keep_what_is_written() -> None:
    table = RegionTable(4)
    raw = bytes(range(64)) * 2
    table.write(8, raw)
    assert table.read(0, 32) == bytes(64) + raw + bytes(64)
    table.parameters = default_parameters(2)
    table.step(bytes(size(RegionStep)), pack(RegionUpdate, region=1, a=2**60))
    assert table.read(8, 16) == raw
    with pytest.raises(ValueError, match="words must be from 0 to 31, not 31 to 32"):
        table.read(31, 2)
    with pytest.raises(ValueError, match="whole words of 8, not 9"):
        table.write(0, bytes(9))


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


@pytest.mark.parametrize("regions", [0, -1])
def test_a_table_without_regions(regions: int) -> None:
    with pytest.raises(ValueError, match=f"regions must be positive, not {regions}"):
        RegionTable(regions)


def test_updates_that_end_within_one() -> None:
    table, updates = RegionTable(2), bytes(2 * size(RegionUpdate) - 1)
    table.parameters = default_parameters(2)
    with pytest.raises(ValueError, match=f"must be whole records of .* bytes, not {len(updates)}"):
        table.step(bytes(size(RegionStep)), updates)


@pytest.mark.parametrize(
    ("policy", "state", "gain", "percentage"),
    [
        (SpeculationPolicy.NEVER, GLOBAL, 0, 0),
        (SpeculationPolicy.SEED_LITERAL, HYBRID, 8, 32768),
        (SpeculationPolicy.COST_AWARE, GLOBAL, 0, 0),
        (SpeculationPolicy.ALWAYS, FULL, 16, 65535),
    ],
)
def test_how_a_region_starts(
    policy: SpeculationPolicy, state: int, gain: int, percentage: int
) -> None:
    record = unpack(RegionRecord, region_record(policy=policy))
    assert (record["state"], record["gain"], record["percentage"]) == (state, gain, percentage)


@pytest.mark.parametrize("momentum", [0.0, 0.5, 0.9])
@pytest.mark.parametrize("gain", ["t1", "t2"])
def test_a_guess_at_its_threshold_is_off_by_tau(momentum: float, gain: str) -> None:
    """Drawn: gradients of noise, each worker's own with as much of its own as α says."""
    rng, alpha, size = np.random.default_rng(1), 0.6, 100_000
    allowed = (1 - alpha if gain == "t1" else 1 / alpha - 1) * (1 - momentum**2)
    velocity = np.zeros(size)
    for _ in range(60):
        mean = rng.normal(size=size)
        own = mean + math.sqrt(1 / alpha - 1) * rng.normal(size=size)
        guess = momentum * velocity + own * (alpha if gain == "t1" else 1)
        velocity = momentum * velocity + mean
    error = math.sqrt(((guess - velocity) ** 2).sum() / (velocity**2).sum())
    assert error == pytest.approx(math.sqrt(allowed), rel=0.02)
    assert speculation_thresholds(error, momentum)[gain] / 65536 == pytest.approx(alpha, abs=0.02)


@pytest.mark.parametrize("tau", [0, 0.1, 0.5, 3.0, math.inf])
@pytest.mark.parametrize("momentum", [0.0, 0.9])
def test_thresholds_of_speculation_rise(tau: float, momentum: float) -> None:
    found = speculation_thresholds(tau, momentum)
    assert 0 <= found["t0"] <= found["t1"] <= found["t2"] <= 65535


@pytest.mark.parametrize(
    ("tau", "momentum", "message"),
    [
        (-1.0, 0.9, "tau must be a number from 0 on, not -1.0"),
        (math.nan, 0.9, "tau must be a number from 0 on, not nan"),
        (0.5, 1.0, "momentum must be from 0 to below 1, not 1.0"),
    ],
)
def test_thresholds_of_nothing(tau: float, momentum: float, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        speculation_thresholds(tau, momentum)

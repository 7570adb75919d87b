"""The Region Manager's averages against exact fractions, of drawn energies and of recorded ones."""

import math
from collections.abc import Iterable, Iterator
from fractions import Fraction
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from adagrain.models.interface.records import pack, unpack
from adagrain.models.interface.units.region_manager import (
    CadencePolicy,
    Decision,
    RegionStep,
    RegionUpdate,
    SpeculationState,
)
from adagrain.models.region_manager.averages import logarithm
from adagrain.models.region_manager.table import RegionTable, default_parameters, region_record

RECORDINGS = Path(__file__).parent / "recordings"
TRAINED = ("digits", "digits_4", "convolutions", "transformer")
WINDOW = 16


class Reference:
    """A region's α and rate as ``docs/region_manager.md`` defines them, in exact fractions."""

    def __init__(self, workers: int) -> None:
        self._workers = workers
        self._updates = 0
        self._alpha = self._fast = self._slow = Fraction(0)

    def take(self, exponent: int, a: int, n: int) -> None:
        if a == 0:
            return
        self._updates += 1
        shift = max(0, max(a, n).bit_length() - 32)
        a_high, n_high = Fraction(a // 2**shift), n // 2**shift
        ratio = n_high * self._workers / a_high if n_high * self._workers < a_high else Fraction(1)
        agreement = min(_floored(ratio, 16), 1 - Fraction(1, 2**16))
        weight = {1: 1, 2: 2, 3: 4, 4: 4, 5: 8, 6: 8, 7: 8}.get(self._updates, 16)
        step = Fraction(1, 2**20)
        self._alpha += agreement / weight - self._alpha / weight // step * step
        octaves = max(n, 1).bit_length() - 1
        level = 2 * exponent + octaves + _floored(Fraction(max(n, 1), 2**octaves) - 1, 10)
        if self._updates == 1:
            self._fast = self._slow = level
        else:
            self._fast += (level - _floored(self._fast, 10)) / 8
            self._slow += (level - _floored(self._slow, 10)) / 64

    @property
    def alpha(self) -> int:
        return math.floor(self._alpha * 2**16)

    @property
    def rate(self) -> int:
        return max(-(2**15), min(2**15 - 1, math.floor((self._slow - self._fast) * 2**10)))


def _floored(value: Fraction, bits: int) -> Fraction:
    return Fraction(math.floor(value * 2**bits), 2**bits)


class Region:
    """A table of one region."""

    def __init__(self, workers: int, record: dict[str, int] | None = None, **parameters: int):
        self._table = RegionTable(1)
        self._table.write(0, region_record(**record or {}))
        self._table.parameters = default_parameters(workers) | parameters

    def update(self, loss: int | None = None, **fields: int) -> dict[str, int]:
        head = pack(RegionStep, loss=loss or 0, loss_valid=loss is not None)
        update = pack(RegionUpdate, **{"usable": 1, "decide": 1, "exponent": 120} | fields)
        return unpack(Decision, self._table.step(head, update))

    def updates(self, count: int, **fields: int) -> list[dict[str, int]]:
        return [self.update(**fields) for _ in range(count)]

    @property
    def run(self) -> dict[str, int]:
        return self._table.parameters


# The definition

ENERGY = st.one_of(st.integers(0, 2**56 - 1), st.sampled_from([0, 1, 2**32, 2**56 - 1]))


@settings(deadline=None, max_examples=60)
@given(
    workers=st.sampled_from([1, 2, 3, 8, 1024]),
    updates=st.lists(
        st.tuples(st.integers(0, 255), ENERGY, ENERGY, st.booleans()), min_size=1, max_size=40
    ),
)
@example(workers=1024, updates=[(1, 2**56 - 1, 2**56 - 1, True), (254, 2**56 - 1, 0, True)] * 5)
def test_averages_are_those_of_the_definition(
    workers: int, updates: list[tuple[int, int, int, bool]]
) -> None:
    region, reference = Region(workers), Reference(workers)
    for exponent, a, n, usable in updates:
        if usable:
            reference.take(exponent, a, n)
        decision = region.update(exponent=exponent, a=a, n=n, usable=usable)
        assert (decision["alpha"], decision["rate"]) == (reference.alpha, reference.rate)
        assert decision["alpha_held"] == (not usable or a == 0)


@given(st.integers(1, 2**56 - 1))
@example(1)
@example(2**56 - 1)
def test_logarithm_is_close_from_below(x: int) -> None:
    assert 0 <= math.log2(x) - logarithm(x) / 1024 < 0.088
    assert logarithm(x - 1) <= logarithm(x)


def test_logarithm_of_powers_of_two_is_exact() -> None:
    assert [logarithm(1 << place) for place in range(56)] == [place << 10 for place in range(56)]
    assert logarithm(0) == 0


@pytest.mark.parametrize("before", [0, 1, 65535])
def test_no_dead_zone(before: int) -> None:
    """Averages get to where the updates are, from either side, and stay there."""
    region = Region(1)
    region.updates(20, a=65536, n=before)
    decision = region.updates(1000, a=65536, n=40000, exponent=122)[-1]
    assert decision["alpha"] == 40000
    assert decision["rate"] in (-1, 0, 1)
    for _ in range(400):
        region.update(a=1, loss=1000)
    assert region.run["loss_fast"] >> 3 == region.run["loss_slow"] >> 6 == logarithm(1000)


def test_first_updates_weigh_about_the_same() -> None:
    """So the average of few is no worse than half as good as their mean."""
    for count in range(1, 17):
        weights = []
        for one in range(count):
            region = Region(1)
            for update in range(count):
                decision = region.update(a=65536, n=65536 * (update == one))
            weights.append(decision["alpha"] / 65535)
        assert sum(weights) == pytest.approx(1, abs=0.001)
        assert sum(weight**2 for weight in weights) < 2 / count


@given(st.lists(st.integers(0, 255), min_size=30, max_size=30))
def test_alpha_does_not_depend_on_units(exponents: list[int]) -> None:
    plain, moved = Region(2), Region(2)
    for number, exponent in enumerate(exponents):
        energies = {"a": 1000 + number, "n": 300 + 7 * number}
        alpha = plain.update(**energies)["alpha"]
        assert moved.update(**energies, exponent=exponent)["alpha"] == alpha


# What is old does not rule


def test_alpha_forgets_peaks() -> None:
    region = Region(2)
    region.updates(100, a=2**50, n=int(0.9 * 2**49))
    decision = region.updates(24, a=2**40, n=2**38)[-1]
    assert decision["alpha"] / 65536 < 0.5 + 0.4 / 4


def test_rate_forgets_peaks() -> None:
    region = Region(2)
    region.updates(100, a=2**40, n=2**38)
    region.update(a=2**50, n=2**48)
    assert abs(region.updates(24, a=2**40, n=2**38)[-1]["rate"]) < 0.15 * 1024
    falling = [region.update(a=2**40 >> k, n=2**38 >> k)["rate"] for k in range(30)]
    assert falling[-1] > 10 * 1024
    assert abs(region.updates(400, a=2**10, n=2**8)[-1]["rate"]) < 0.05 * 1024


def test_loss_guard_sees_a_rise_after_a_fall() -> None:
    region = Region(2, {"cadence_policy": CadencePolicy.NOISE, "cadence": 2})
    losses = [2**17] * 200 + [2**7] * 200
    assert not any(region.update(a=9, n=4, loss=loss)["guarded"] for loss in losses)
    assert any(region.update(a=9, n=4, loss=2**10)["guarded"] for _ in range(16))


@pytest.mark.parametrize(("guard", "guarded"), [(0, 0), (895, 1), (896, 0)])
def test_loss_guard_is_exact(guard: int, guarded: int) -> None:
    """One step at 2⁸ times the loss: 8·(1/8 − 1/64) octaves, which is 896."""
    region = Region(2, {"cadence_policy": CadencePolicy.NOISE, "cadence": 2}, guard=guard)
    region.update(a=9, n=4, loss=2**16)
    decision = region.update(a=9, n=4, loss=2**24)
    assert (decision["loss_rate"], decision["guarded"]) == (-896, guarded)


# Recorded runs


@cache
def recorded(name: str) -> dict[str, list[int]]:
    with np.load(RECORDINGS / f"{name}.npz") as file:
        return {column: file[column].tolist() for column in file.files}


def replayed(name: str) -> Iterator[tuple[int, int, int, int, int, dict[str, int]]]:
    """Region, step, exponent, A, N and decision of each recorded update; speculation pays."""
    columns = recorded(name)
    table = RegionTable(len(columns["regions"]))
    table.parameters = default_parameters(columns["workers"])
    table.write(0, region_record() * len(columns["regions"]))
    for region, step, exponent, a, n in zip(
        *(columns[column] for column in ("region", "step", "exponent", "a", "n")), strict=True
    ):
        update = {"region": region, "exponent": exponent, "a": a, "n": n, "usable": 1}
        update |= {"decide": (step + 1) % 16 == 0, "stall": 1000}
        raw = table.step(pack(RegionStep), pack(RegionUpdate, **update))
        yield region, step, exponent, a, n, unpack(Decision, raw)


@cache
def alphas_and_truths(name: str) -> dict[int, tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """By region: the model's α; the quotients' means over a window that ends here; the states."""
    workers = recorded(name)["workers"]
    alphas: dict[int, list[float]] = {}
    quotients: dict[int, list[Fraction]] = {}
    states: dict[int, list[int]] = {}
    for region, _, _, a, n, decision in replayed(name):
        alphas.setdefault(region, []).append(decision["alpha"] / 65536)
        before = quotients.setdefault(region, [])
        before.append(min(Fraction(1), Fraction(n * workers, a)) if a else before[-1])
        states.setdefault(region, []).append(decision["state"])
    truths = {region: np.array(list(_trailing(found))) for region, found in quotients.items()}
    return {r: (np.array(alphas[r]), truths[r], np.array(states[r])) for r in alphas}


def _trailing(values: list[Fraction]) -> Iterable[float]:
    for end in range(1, len(values) + 1):
        window = values[max(0, end - WINDOW) : end]
        yield float(sum(window) / len(window))


@pytest.mark.parametrize("name", [*TRAINED, "noise", "signal"])
def test_recorded_averages_are_those_of_the_definition(name: str) -> None:
    workers = recorded(name)["workers"]
    references: dict[int, Reference] = {}
    for region, _, exponent, a, n, decision in replayed(name):
        reference = references.setdefault(region, Reference(workers))
        reference.take(exponent, a, n)
        assert (decision["alpha"], decision["rate"]) == (reference.alpha, reference.rate)


@pytest.mark.parametrize("name", TRAINED)
def test_alpha_is_near_the_windowed_truth(name: str) -> None:
    for region, (alpha, truth, _) in alphas_and_truths(name).items():
        assert np.abs(alpha - truth).mean() <= 0.03, region


@pytest.mark.parametrize("name", [*TRAINED, "signal", "signal_4"])
def test_alpha_lags_little(name: str) -> None:
    """The shift at which α is nearest to the mean over a window around each update."""
    for region, (alpha, truth, _) in alphas_and_truths(name).items():
        around = truth[WINDOW // 2 :]
        errors = [
            np.square(alpha[lag : len(around)] - around[: len(around) - lag]).mean()
            for lag in range(60)
        ]
        assert np.argmin(errors) <= 24, region


@pytest.mark.parametrize("name", ["noise", "noise_4"])
def test_alpha_is_steady_in_noise(name: str) -> None:
    """Steadier than the mean over the window, unbiased, and never taken for signal."""
    workers = recorded(name)["workers"]
    for alpha, truth, states in alphas_and_truths(name).values():
        assert abs(alpha.mean() - 1 / workers) < 0.01
        assert alpha[100:].std() < truth[100:].std()
        assert set(states) == {SpeculationState.GLOBAL}


@pytest.mark.parametrize("name", TRAINED)
def test_states_follow(name: str) -> None:
    """No region speculates longer than lag and decision epoch after the truth fell below T0."""
    t0 = default_parameters(recorded(name)["workers"])["t0"] / 65536
    speculated = 0
    for region, (_, truth, states) in alphas_and_truths(name).items():
        below = 0
        for agreement, state in zip(truth, states, strict=True):
            below = below + 1 if agreement < t0 else 0
            speculated += state != SpeculationState.GLOBAL
            assert state == SpeculationState.GLOBAL or below <= 24 + 16, region
    assert speculated > 10

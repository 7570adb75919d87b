"""Cadences that the golden Region Manager decides on."""

from fractions import Fraction
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st
from single_region import Region

from adagrain.models.interface.units.region_manager import CadencePolicy

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
def test_the_measure_is_the_ratio_of_noise_to_signal(noise: int, signal: int, workers: int) -> None:
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


def test_nothing_is_compared_without_energy() -> None:
    record = {"cadence_policy": CadencePolicy.NOISE, "cadence": 1}
    region = Region(record, noise_samples=1)
    for _ in range(5):
        decision = region.update(a=0, n=0)
    assert decision["alpha_held"]
    assert decision["cadence"] == 1
    assert region.record["samples"] == 5

"""Means of benchmarks' figures, and their standard errors."""

import pytest
from _figures import mean, standard_error
from _training import Outcome
from presets import row


def outcome(accuracy: float) -> Outcome:
    return Outcome(accuracy, 10, 100, 4, 3, {}, "")


def test_means() -> None:
    assert mean([1.0, 2.0, 4.0]) == 2.33333
    assert standard_error([1.0, 3.0]) == 1.0


def test_one_value_has_no_standard_error() -> None:
    assert standard_error([2.0]) == 0.0


def test_differences_of_presets_are_paired() -> None:
    found = row([outcome(90.0), outcome(92.0)], [outcome(91.0), outcome(95.0)])
    assert found["minus_sync"] == -2.0 and found["minus_sync_standard_error"] == 1.0
    assert found["bytes_ratio"] == pytest.approx(0.1) and found["trials"] == 8

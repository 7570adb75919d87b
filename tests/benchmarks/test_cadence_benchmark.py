"""The benchmark of cadences: every way is compared at a learning rate of its own."""

from collections.abc import Sequence
from typing import Any

import cadence
import pytest
from _training import Outcome
from rich.progress import Progress

#: The rate that suits each way; fixed cadences by themselves.
BEST: dict[Any, float] = {
    "cadence 1": 0.2,
    "policy": 0.05,
    (4, 4, 1): 0.1,
    (4, 4, 2): 0.1,
    (4, 4, 4): 0.025,
    (4, 4, 8): 0.1,
}

#: What each reaches at that rate.
ACCURACY: dict[Any, float] = {(4, 4, 2): 97.5, "cadence 1": 97.2, "policy": 97.1}


def train(way: cadence.Way, seeds: Sequence[int], title: str, progress: Progress) -> list[Outcome]:
    """Accuracies that fall with the distance from the best rate."""
    name = "cadence 1" if way.options.preset == "sync" else "policy"
    key = tuple(way.policy["cadences"].values()) if way.policy else name
    reached = ACCURACY.get(key, 97.0) - abs(way.options.learning_rate - BEST[key])
    return [Outcome(reached + seed % 5 / 9, 284, 1000, 0, 0, {}, "") for seed in seeds]


def test_each_way_has_its_own_rate(monkeypatch: pytest.MonkeyPatch) -> None:
    kept: dict[str, Any] = {}
    monkeypatch.setattr(cadence, "train", train)
    monkeypatch.setattr(cadence, "report", lambda name, figures: kept.update(figures))
    monkeypatch.setattr(cadence, "above", lambda x, y, least: 0.01)
    with pytest.raises(SystemExit) as ended:
        cadence.main()
    assert ended.value.code is None
    rates = {key: value for key, value in kept.items() if key.startswith("learning_rate_")}
    assert [*rates.values()] == [0.2, 0.05, 0.1, 0.025]
    assert kept["fixed_cadences"] == "(4, 4, 2)" and kept["uniform_cadences"] == "(4, 4, 4)"
    assert kept["policy_minus_fixed"] == pytest.approx(-0.4)


def test_what_is_not_shown() -> None:
    figures = {"seeds": 3, "equivalence_p": 0.05, "better_than_uniform_p": 0.049}
    assert cadence.not_shown(figures) == "equivalence_p must be below 0.05, not 0.05"
    assert cadence.not_shown({**figures, "equivalence_p": 0.04}) is None

"""Cadences that the coprocessors choose, against cadence 1 and against fixed cadences.

Trains the digits on two workers with golden devices (bit-exact with the RTL), really distributed.
Each way's learning rate, and the best fixed cadences, are chosen on other seeds than those
compared. All comparisons are paired by seed; accuracies are in percent, on 450 test images; a p
below 0.05 speaks for what its name says. Exits with status 1 where one is not.
"""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from _report import report
from _training import Job, Outcome, train_all
from rich.progress import Progress
from scipy import stats

from adagrain.host.train.options import TrainingOptions
from adagrain.models.interface.units.region_manager import CadencePolicy

#: Points of accuracy within which two ways count as equal.
MARGIN = 0.5

#: What each p must be below.
LEVEL = 0.05

RATES = (0.025, 0.05, 0.1, 0.2)
TUNING_SEEDS = range(100, 103)
SEEDS = range(24)

#: Elements of the network's regions.
SIZES = {"hidden1": 64 * 128 + 128, "hidden2": 128 * 64 + 64, "output": 64 * 10 + 10}

#: Fixed cadences count as equal in bytes that send this part of the policy's bytes, or more...
LEAST = 0.85
#: ... up to this one.
MOST = 1.05

POLICY = TrainingOptions(name="benchmark", device="golden:", timing="fixed")
SYNC = replace(POLICY, preset="sync")


class Way(NamedTuple):
    """A way to train, at a learning rate, and its accuracy on the tuning seeds."""

    options: TrainingOptions
    policy: dict[str, Any]
    accuracy: float


def main() -> None:
    """Tune, train, compare, report."""
    with Progress() as progress:
        sync = tuned(SYNC, "cadence 1", progress)
        policy = tuned(POLICY, "policy", progress)
        reference = train(sync, SEEDS, "cadence 1", progress)
        chosen = train(policy, SEEDS, "policy", progress)
        ratio = float(np.mean([outcome.bytes_ratio for outcome in chosen]))
        candidates, uniform = equal_in_bytes(ratio), uniform_nearest(ratio)
        rivals = {
            cadences: tuned(POLICY, f"fixed {cadences}", progress, fixed(cadences))
            for cadences in {*candidates, uniform}
        }
        best = max(candidates, key=lambda cadences: rivals[cadences].accuracy)
        fixed_outcomes = train(rivals[best], SEEDS, "best fixed", progress)
        uniform_outcomes = train(rivals[uniform], SEEDS, "uniform", progress)
    figures = {
        "seeds": len(SEEDS),
        "steps": POLICY.steps,
        "learning_rate_cadence_1": sync.options.learning_rate,
        "learning_rate_policy": policy.options.learning_rate,
        "learning_rate_fixed": rivals[best].options.learning_rate,
        "learning_rate_uniform": rivals[uniform].options.learning_rate,
        "bytes_ratio": ratio,
        "bytes_ratio_fixed": bytes_of(best),
        "bytes_ratio_uniform": bytes_of(uniform),
        "fixed_cadences": str(best),
        "uniform_cadences": str(uniform),
        "accuracies_cadence_1": accuracies(reference),
        "accuracies_policy": accuracies(chosen),
        "accuracies_fixed": accuracies(fixed_outcomes),
        "accuracies_uniform": accuracies(uniform_outcomes),
        "accuracy_cadence_1": mean(reference),
        "accuracy_policy": mean(chosen),
        "accuracy_fixed": mean(fixed_outcomes),
        "accuracy_uniform": mean(uniform_outcomes),
        "policy_minus_cadence_1": mean(chosen) - mean(reference),
        "equivalence_p": equivalence(accuracies(chosen), accuracies(reference)),
        "policy_minus_fixed": mean(chosen) - mean(fixed_outcomes),
        "not_worse_than_fixed_p": above(accuracies(chosen), accuracies(fixed_outcomes), -MARGIN),
        "policy_minus_uniform": mean(chosen) - mean(uniform_outcomes),
        "better_than_uniform_p": above(accuracies(chosen), accuracies(uniform_outcomes), 0.0),
    }
    report("cadence", figures)
    sys.exit(not_shown(figures))


def not_shown(figures: Mapping[str, Any]) -> str | None:
    """What figures do not speak for; ``None`` if they do for all."""
    found = [
        f"{name} must be below {LEVEL}, not {p:.4g}"
        for name, p in figures.items()
        if name.endswith("_p") and not p < LEVEL
    ]
    return "; ".join(found) or None


def tuned(
    options: TrainingOptions,
    title: str,
    progress: Progress,
    policy: dict[str, Any] | None = None,
) -> Way:
    """A way with the learning rate that is best on the tuning seeds."""
    tried = []
    for rate in RATES:
        way = Way(replace(options, learning_rate=rate), policy or {}, 0.0)
        outcomes = train(way, TUNING_SEEDS, f"{title}, rate {rate}", progress)
        tried.append(way._replace(accuracy=mean(outcomes)))
    return max(tried, key=lambda way: way.accuracy)


def fixed(cadences: Sequence[int]) -> dict[str, Any]:
    """Options of the reducer for fixed cadences, in the order of the regions."""
    return {
        "cadence": CadencePolicy.FIXED,
        "cadences": dict(zip(SIZES, cadences, strict=True)),
        "cadence_max": max(cadences),
    }


def bytes_of(cadences: Sequence[int]) -> float:
    """Part of the bytes of cadence 1 that fixed cadences send."""
    sent = sum(size / c for size, c in zip(SIZES.values(), cadences, strict=True))
    return sent / sum(SIZES.values())


def equal_in_bytes(ratio: float) -> list[tuple[int, ...]]:
    """All fixed cadences up to 8 that send about that part of the bytes."""
    every = product((1, 2, 4, 8), repeat=len(SIZES))
    return [c for c in every if LEAST * ratio <= bytes_of(c) <= MOST * ratio]


def uniform_nearest(ratio: float) -> tuple[int, ...]:
    """The same cadence everywhere, nearest in bytes."""
    cadence = min((1, 2, 4, 8), key=lambda c: abs(np.log(1 / c / ratio)))
    return (cadence,) * len(SIZES)


def train(way: Way, seeds: Sequence[int], title: str, progress: Progress) -> list[Outcome]:
    """Train once for each seed."""
    task = progress.add_task(title, total=len(seeds))
    jobs = [Job(replace(way.options, seed=seed), way.policy) for seed in seeds]
    return train_all(jobs, progress=lambda done: progress.advance(task, done))


def accuracies(outcomes: Sequence[Outcome]) -> list[float]:
    return [round(outcome.accuracy, 3) for outcome in outcomes]


def mean(outcomes: Sequence[Outcome]) -> float:
    return float(np.mean([outcome.accuracy for outcome in outcomes]))


def equivalence(x: Sequence[float], y: Sequence[float]) -> float:
    """p of two one-sided tests: below 0.05, x and y differ by less than the margin."""
    return max(above(x, y, -MARGIN), above(y, x, -MARGIN))


def above(x: Sequence[float], y: Sequence[float], least: float) -> float:
    """p of a one-sided paired t-test: below 0.05, x is above y by more than that."""
    return float(stats.ttest_rel(x, np.add(y, least), alternative="greater").pvalue)


if __name__ == "__main__":
    main()

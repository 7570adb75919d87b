"""Ways to average how far workers agree, and what they are compared with."""

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from _recordings import Recording, Series

from adagrain.models.interface.records import pack, unpack
from adagrain.models.interface.units.region_manager import Decision, RegionStep, RegionUpdate
from adagrain.models.region_manager.table import RegionTable, default_parameters, region_record

__all__ = ["BEFORE", "NOW", "WAYS", "WINDOW", "energies", "lag", "moving", "replay", "truth"]

#: Updates over which the truth is a mean.
WINDOW = 16

#: Longest lag that is looked for.
_LONGEST = 80

#: The golden model's decisions for a region.
Decisions = Sequence[Mapping[str, Any]]

#: From a region's updates, the number of workers, and what the golden model made of them.
Way = Callable[[Series, int, Decisions], np.ndarray]


def truth(series: Series, workers: int) -> np.ndarray:
    """The mean of the quotients min(1, N·W/A) of the last 16 updates, summed as fractions.

    Every update weighs the same, because a guess is made, accepted or rejected for each update by
    itself, relative to its own energy. A quotient of sums over the same window is an average that
    weighs by energy: it follows the largest update.
    """
    quotients = [
        min(Fraction(1), Fraction(n * workers, a))
        for a, n in zip(series.a, series.n, strict=True)
        if a
    ]
    windows = (quotients[max(0, end - WINDOW) : end] for end in range(1, len(quotients) + 1))
    return np.array([float(sum(window) / len(window)) for window in windows])


def lag(alpha: np.ndarray, trailing: np.ndarray) -> int:
    """Updates by which α is best shifted back, to be near the truth *around* each update."""
    around = trailing[WINDOW // 2 :]
    errors = [
        np.square(alpha[late : len(around)] - around[: len(around) - late]).mean()
        for late in range(min(_LONGEST, len(around) // 2))
    ]
    return int(np.argmin(errors))


def energies(series: Series) -> tuple[np.ndarray, np.ndarray]:
    """A and N in one unit."""
    unit = 4.0 ** (np.array(series.exponent) - 127)
    return np.array(series.a, float) * unit, np.array(series.n, float) * unit


def replay(recording: Recording) -> list[list[dict[str, Any]]]:
    """The golden model's decisions, by region; speculation pays, decision epochs have 16 steps."""
    table = RegionTable(len(recording.regions))
    table.parameters = default_parameters(recording.workers)
    table.write(0, region_record() * len(recording.regions))
    decisions: list[list[dict[str, Any]]] = [[] for _ in recording.regions]
    for step, region, exponent, a, n in zip(
        recording.step,
        recording.region,
        recording.exponent,
        recording.a,
        recording.n,
        strict=True,
    ):
        update = {"region": region, "exponent": exponent, "a": a, "n": n, "usable": 1}
        update |= {"decide": (step + 1) % 16 == 0, "stall": 1000}
        raw = table.step(pack(RegionStep), pack(RegionUpdate, **update))
        decisions[region].append(unpack(Decision, raw) | {"step": step})
    return decisions


def moving(values: np.ndarray, shift: int) -> np.ndarray:
    """A moving average that starts with the first value."""
    average, averages = values[0], []
    for value in values:
        average += (value - average) / 2**shift
        averages.append(average)
    return np.array(averages)


def _of_averages(series: Series, workers: int, _: Decisions) -> np.ndarray:
    a, n = energies(series)
    return np.minimum(1, workers * moving(n, 4) / moving(a, 4))


def _of_quotients(shift: int) -> Way:
    def way(series: Series, workers: int, _: Decisions) -> np.ndarray:
        a, n = energies(series)
        return moving(np.minimum(1, workers * n / a), shift)

    return way


def _of_blocks(length: int) -> Way:
    """Of sums over that many updates, which hold until the next ones are complete."""

    def way(series: Series, workers: int, _: Decisions) -> np.ndarray:
        a, n = energies(series)
        known, alphas = workers * n[0] / a[0], []
        for end in range(1, len(a) + 1):
            if end % length == 0:
                known = workers * n[end - length : end].sum() / a[end - length : end].sum()
            alphas.append(min(1.0, known))
        return np.array(alphas)

    return way


def _decided(series: Series, workers: int, decisions: Decisions) -> np.ndarray:
    return np.array([decision["alpha"] / 65536 for decision in decisions])


#: The way of earlier versions, and what the Region Manager does now: the average with shift 4, but
#: with smaller shifts for the first updates.
BEFORE, NOW = "quotient of averages, shift 4", "region_manager"

#: All that are compared.
WAYS: dict[str, Way] = {
    BEFORE: _of_averages,
    "average of quotients, shift 3": _of_quotients(3),
    "average of quotients, shift 4": _of_quotients(4),
    "average of quotients, shift 5": _of_quotients(5),
    "sums over 8 updates": _of_blocks(8),
    "sums over 16 updates": _of_blocks(16),
    "sums over 32 updates": _of_blocks(32),
    NOW: _decided,
}

"""Averages of workers' agreement: error and lag of each way, on recorded and on drawn energies.

The recordings are integers that two or four workers agreed on: three networks in training, drawn
noise whose energies fall a thousandfold, and a drawn signal. ``--record`` makes them anew, which
takes some 20 minutes. The truth is the mean of the exact quotients N·W/A of the last 16 updates.
Exits with status 1 where the Region Manager's α misses its aims: a mean error of at most 0.05, a
lag of at most 24 updates, in noise no worse than before, and states that follow.
"""

import sys
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import numpy as np
import typer
from _alpha_picture import draw
from _alpha_sources import SOURCES, signal_share
from _alpha_ways import BEFORE, NOW, WAYS, energies, lag, moving, replay, truth
from _recordings import Recording
from _report import RESULTS, report
from rich.console import Console
from rich.progress import track
from rich.table import Table

from adagrain.models.region_manager.averages import ALPHA_SHIFTS
from adagrain.models.region_manager.table import default_parameters

#: Aims: mean error, and updates of lag.
ERROR, LAG = 0.05, 24

#: Steps of a decision epoch.
EPOCH = 16

#: Updates after which the first ones no longer count.
SETTLED = 100

#: Drawn regions of noise: elements, and updates of a decision epoch; how many are drawn.
CHANCES = ((1, 16), (4, 16), (16, 16), (16, 4))
DRAWN = 20_000


def main(
    record: Annotated[bool, typer.Option(help="Make the recordings anew.")] = False,
) -> None:
    """Score, report, draw."""
    if record:
        for name, (source, workers) in track(SOURCES.items(), "recording"):
            source(name, workers).save()
    recordings = [Recording.load(name) for name in SOURCES]
    ways = {recording.name: scored(recording) for recording in recordings}
    show(ways)
    figures: dict[str, Any] = {"ways": ", ".join(WAYS)}
    figures |= {
        recording.name: summary(recording, ways[recording.name]) for recording in recordings
    }
    figures |= {
        f"noise, {size} elements, {updates} updates a decision epoch": chances(size, updates)
        for size, updates in CHANCES
    }
    missed = [recording.name for recording in recordings if misses(figures[recording.name])]
    figures["aims_missed"] = ", ".join(missed) or "none"
    report("alpha", figures)
    draw(recordings[0], RESULTS / "alpha.png")
    sys.exit(bool(missed))


def scored(recording: Recording) -> dict[str, dict[str, float]]:
    """Each way's figures on a recording: means over its regions."""
    decisions = replay(recording)
    rows: dict[str, list[dict[str, float]]] = {name: [] for name in WAYS}
    for series, of_region in zip(recording.series(), decisions, strict=True):
        right = truth(series, recording.workers)
        for name, way in WAYS.items():
            alpha = way(series, recording.workers, of_region)
            rows[name].append(figures_of(alpha, right, recording, series.step))
    return {
        name: {key: float(np.mean([row[key] for row in of_way])) for key in of_way[0]}
        for name, of_way in rows.items()
    }


def figures_of(
    alpha: np.ndarray, right: np.ndarray, recording: Recording, steps: Sequence[int]
) -> dict[str, float]:
    """Error against the truth; lag where something moves, scatter where nothing does."""
    figures = {"error": float(np.abs(alpha - right).mean())}
    if recording.name.startswith("noise"):
        figures["deviation"] = float(alpha[SETTLED:].std())
    else:
        figures["lag_updates"] = lag(alpha, right)
    if recording.name.startswith("signal"):
        share = np.array([signal_share(step) for step in steps])
        known = 1 / recording.workers + share * (1 - 1 / recording.workers)
        figures["error_of_known"] = float(np.abs(alpha - known).mean())
    return figures


def summary(recording: Recording, ways: Mapping[str, Mapping[str, float]]) -> dict[str, Any]:
    """The Region Manager's figures beside those of the earlier way, and its worst region's."""
    figures: dict[str, Any] = {}
    for key, value in ways[NOW].items():
        figures |= {key: value, f"{key}_before": ways[BEFORE][key]}
    worst = {"error": 0.0, "lag_updates": 0.0, "late_updates": 0.0}
    decisions = replay(recording)
    for series, of_region in zip(recording.series(), decisions, strict=True):
        right = truth(series, recording.workers)
        alpha = WAYS[NOW](series, recording.workers, of_region)
        found = figures_of(alpha, right, recording, series.step)
        found["late_updates"] = lateness(of_region, right, recording.workers)
        worst = {key: max(value, found.get(key, 0.0)) for key, value in worst.items()}
    figures |= {f"{key}_worst": value for key, value in worst.items()}
    figures |= {f"{key}_of_ways": [of_way[key] for of_way in ways.values()] for key in ways[NOW]}
    return figures | rates(recording, decisions)


def lateness(decisions: Sequence[Mapping[str, Any]], right: np.ndarray, workers: int) -> int:
    """Most updates for which a region speculated on while the truth was below T0."""
    below = most = 0
    for decision, agreement in zip(decisions, right, strict=True):
        below = below + 1 if agreement < default_parameters(workers)["t0"] / 65536 else 0
        most = max(most, below if decision["state"] else 0)
    return most


def rates(recording: Recording, decisions: Sequence[Sequence[Mapping[str, Any]]]) -> dict[str, Any]:
    """Mean errors in octaves: of the fall of N between windows of 127 and of 15 updates.

    These are as old on average, 63 and 7 updates, as the averages with shifts 6 and 3.
    """
    now, before = [], []
    for series, of_region in zip(recording.series(), decisions, strict=True):
        n = np.maximum(energies(series)[1], np.finfo(float).tiny)
        right = windowed(np.log2(n), 127) - windowed(np.log2(n), 15)
        now.append(np.abs([d["rate"] / 1024 for d in of_region] - right).mean())
        before.append(np.abs(np.log2(moving(n, 6) / moving(n, 3)) - right).mean())
    return {"rate_error": float(np.mean(now)), "rate_error_before": float(np.mean(before))}


def windowed(values: np.ndarray, length: int) -> np.ndarray:
    """Means over the last values."""
    sums = np.concatenate([[0.0], np.cumsum(values)])
    ends = np.arange(1, len(values) + 1)
    starts = np.maximum(0, ends - length)
    return (sums[ends] - sums[starts]) / (ends - starts)


def chances(size: int, updates: int, workers: int = 2) -> dict[str, float]:
    """Chances that noise alone lets α reach T1: at a decision epoch's end, and of two in a row."""
    generator = np.random.default_rng(size)
    t1 = default_parameters(workers)["t1"] / 65536
    alpha, reached = np.zeros(DRAWN), []
    for update in range(8 * updates):
        gradients = generator.standard_normal((workers, size, DRAWN), dtype=np.float32)
        together = np.square(gradients.mean(axis=0)).sum(axis=0)
        agreement = workers * together / np.square(gradients).sum(axis=(0, 1))
        alpha += (agreement - alpha) / 2 ** ALPHA_SHIFTS[min(update, len(ALPHA_SHIFTS) - 1)]
        if update % updates == updates - 1:
            reached.append(alpha >= t1)
    both = np.logical_and(reached[1:], reached[:-1])
    return {
        "deviation": float(alpha.std()),
        "one_epoch": float(np.mean(reached[4:])),
        "first_two_epochs": float(both[0].mean()),
        "two_later_epochs": float(both[3:].mean()),
    }


def misses(figures: Mapping[str, Any]) -> bool:
    """True if the Region Manager is beyond an aim on a recording."""
    return (
        figures["error_worst"] > ERROR
        or figures["lag_updates_worst"] > LAG
        or figures["late_updates_worst"] > LAG + EPOCH
        or figures.get("deviation", 0) > figures.get("deviation_before", 0)
    )


def show(ways: Mapping[str, Mapping[str, Mapping[str, float]]]) -> None:
    """Print how the ways compare."""
    table = Table("mean error, lag in updates (noise: deviation)", *ways)
    for name in WAYS:
        cells = []
        for of_recording in ways.values():
            error, further, *_ = of_recording[name].values()
            cells.append(f"{error:.3f}, {further:.3g}")
        table.add_row(name, *cells)
    Console().print(table)


if __name__ == "__main__":
    typer.run(main)

"""Accuracy over bit-operations: the frontier of some ways, and its picture."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
from _figures import mean, standard_error
from matplotlib.axes import Axes

__all__ = ["LOWER", "draw", "frontier"]

#: Of the picture, in parts of FP16's bit-operations.
TICKS = (0.06, 0.1, 0.15, 0.25, 0.5, 1, 2, 4)

#: How names of ways end that have INT4 in the backward pass.
LOWER = ", INT4 backward"

#: Ways with fewer bit-operations than that may lie above the picture.
SHOWN_FROM = 0.07


def frontier(
    fixed: Sequence[str], bits: Mapping[str, float], values: Mapping[str, np.ndarray], at: float
) -> np.ndarray:
    """Accuracy that fixed ways reach with so many bit-operations, of each seed."""
    names = hull({name: (bits[name], float(values[name].mean())) for name in fixed})
    right = next((n for n, name in enumerate(names) if bits[name] >= at), len(names) - 1)
    left = max(0, right - 1)
    between = bits[names[right]] - bits[names[left]]
    part = min(1.0, (at - bits[names[left]]) / between) if between else 1.0
    return (1 - part) * values[names[left]] + part * values[names[right]]


def hull(points: Mapping[str, tuple[float, float]]) -> list[str]:
    """Lower left convex hull: what is reached by choosing among the points, or mixing two."""
    kept: list[str] = []
    for name in sorted(points, key=points.__getitem__):
        if kept and points[name][1] >= points[kept[-1]][1]:
            continue
        while len(kept) > 1 and _above(*(points[n] for n in (kept[-2], kept[-1], name))):
            kept.pop()
        kept.append(name)
    return kept


def _above(a: tuple[float, float], b: tuple[float, float], c: tuple[float, float]) -> bool:
    return (b[1] - a[1]) * (c[0] - a[0]) >= (c[1] - a[1]) * (b[0] - a[0])


def draw(
    task: str, rows: Mapping[str, Mapping[str, Any]], fixed: Sequence[str], path: Path
) -> None:
    """Loss and error over bit-operations, of every way, with the frontiers."""
    figure, axes = plt.subplots(1, 2, figsize=(13, 5))
    bits = {name: row["bit_operations_to_fp16"] for name, row in rows.items()}
    losses = {name: row["losses"] for name, row in rows.items()}
    errors = {name: [100 - a for a in row["accuracies"]] for name, row in rows.items()}
    _panel(axes[0], fixed, bits, losses, "held-out loss, mean and standard error")
    _panel(axes[1], fixed, bits, errors, "held-out errors in percent, mean and standard error")
    figure.suptitle(
        f"{task}: fixed precisions and their frontier (grey), chosen ones (violet, by penalty); "
        "squares: INT4 also in the backward pass"
    )
    figure.tight_layout()
    figure.savefig(path, dpi=110)
    plt.close(figure)


def _panel(
    axis: Axes,
    fixed: Sequence[str],
    bits: Mapping[str, float],
    values: Mapping[str, Sequence[float]],
    label: str,
) -> None:
    points = {name: (bits[name], mean(values[name])) for name in bits}
    on_hull = hull({name: points[name] for name in fixed})
    corners = tuple(zip(*(points[name] for name in on_hull), strict=True))
    between = np.geomspace(corners[0][0], corners[0][-1], 200)  # straight lines, on a log axis
    axis.plot(between, np.interp(between, *corners), color="#9ca3af", zorder=1)
    most = max(y for name, (_, y) in points.items() if bits[name] > SHOWN_FROM)
    for name, point in points.items():
        is_fixed = name in fixed
        colour = "#9ca3af" if is_fixed else "#7c3aed"
        error = standard_error(values[name])
        shape = "s" if name.endswith(LOWER) else "o"
        axis.errorbar(*point, error, fmt=shape, color=colour, markersize=4, zorder=2)
        if (not is_fixed or name in on_hull) and point[1] <= most:
            axis.annotate(
                name.removeprefix("dynamic, penalty ").removesuffix(LOWER),
                point,
                xytext=(5, 3) if is_fixed else (-5, -3),
                textcoords="offset points",
                ha="left" if is_fixed else "right",
                va="bottom" if is_fixed else "top",
                color="#6b7280" if is_fixed else colour,
                fontsize=7,
            )
    least = min(y for _, y in points.values())
    axis.set_ylim(least - 0.1 * (most - least), most + 0.1 * (most - least))
    axis.set_xscale("log")
    axis.set_xlim(left=0.75 * min(bits.values()))
    axis.set_xticks(TICKS, [f"{tick:g}" for tick in TICKS], minor=False)
    axis.set_xticks([], minor=True)
    axis.set_xlabel("bit-operations, of FP16 throughout")
    axis.set_ylabel(label)
    axis.spines[["top", "right"]].set_visible(False)

"""The picture of loss over bytes, of every way to exchange gradients."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
from matplotlib.axes import Axes

__all__ = ["draw"]

_THEIRS, _OURS = "#9ca3af", "#7c3aed"


def draw(
    tasks: Sequence[str], ways: Sequence[str], figures: Mapping[str, Mapping[str, Any]], path: Path
) -> None:
    """A panel for each task, with a point for each way.

    Parameters
    ----------
    tasks, ways : sequence of str
        What is shown; ways that have more than twice the first one's loss are not.
    figures : mapping
        ``<task>_<way>`` → its figure, as the benchmark records it.
    path : Path
        Where it goes.
    """
    _, axes = plt.subplots(
        1, len(tasks), figsize=(6.5 * len(tasks), 5), layout="constrained", squeeze=False
    )
    for axis, task in zip(axes[0], tasks, strict=True):
        _panel(axis, {way: figures[f"{task}_{way}"] for way in ways})
        axis.set_title(task, loc="left", fontsize=9.5)
    axes[0][0].set_ylabel("held-out loss, mean and standard error")
    plt.savefig(path, dpi=110)
    plt.close()


def _panel(axis: Axes, rows: Mapping[str, Mapping[str, Any]]) -> None:
    most = 2 * next(iter(rows.values()))["loss"]
    shown = {way: row for way, row in rows.items() if row["loss"] <= most}
    for way, row in shown.items():
        colour = _THEIRS if way.startswith(("fp16", "dense", "powersgd")) else _OURS
        point = 1 / row["bytes_of_first"], row["loss"]
        axis.errorbar(*point, row["standard_error"], fmt="o", color=colour, markersize=4)
        offset = {"xytext": (4, 4), "textcoords": "offset points"}
        axis.annotate(way.replace("_", " "), point, color=colour, fontsize=7, **offset)
    axis.set_xscale("log")
    axis.set_xlabel(f"bytes of a whole run, of those of {next(iter(rows))}")
    axis.spines[["top", "right"]].set_visible(False)

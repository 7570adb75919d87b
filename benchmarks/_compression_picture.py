"""The picture of loss over bytes, of every way to exchange gradients."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.transforms import Bbox

__all__ = ["draw"]

_THEIRS, _OURS = "#9ca3af", "#7c3aed"

#: Where a label may stand beside its point: points to the right and up, and the end at the point.
_PLACES = [
    (x, y, end)
    for y in (4, -10, 13, -19, 22, -28, 31, -37)
    for x, end in ((4, "left"), (-4, "right"))
]


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
    figure, axes = plt.subplots(
        1, len(tasks), figsize=(6.5 * len(tasks), 5), layout="constrained", squeeze=False
    )
    for axis, task in zip(axes[0], tasks, strict=True):
        _panel(axis, {way: figures[f"{task}_{way}"] for way in ways})
        axis.set_title(task, loc="left", fontsize=9.5)
    axes[0][0].set_ylabel("held-out loss, mean and standard error")
    figure.canvas.draw()  # else labels do not know where they are
    for axis, task in zip(axes[0], tasks, strict=True):
        _label(axis, {way: figures[f"{task}_{way}"] for way in ways})
    plt.savefig(path, dpi=110)
    plt.close()


def _shown(rows: Mapping[str, Mapping[str, Any]]) -> Iterator[tuple[str, str, float, float, float]]:
    """Name, colour, bytes, loss and its error of each way that is shown."""
    most = 2 * next(iter(rows.values()))["loss"]
    for way, row in rows.items():
        colour = _THEIRS if way.startswith(("fp16", "dense", "powersgd")) else _OURS
        if row["loss"] <= most:
            yield way, colour, 1 / row["bytes_of_first"], row["loss"], row["standard_error"]


def _panel(axis: Axes, rows: Mapping[str, Mapping[str, Any]]) -> None:
    for _, colour, part, loss, error in _shown(rows):
        axis.errorbar(part, loss, error, fmt="o", color=colour, markersize=4)
    axis.set_xscale("log")
    axis.margins(x=0.15)
    axis.set_xlabel(f"bytes of a whole run, of those of {next(iter(rows))}")
    axis.spines[["top", "right"]].set_visible(False)


def _label(axis: Axes, rows: Mapping[str, Mapping[str, Any]]) -> None:
    """Name points, where no other name or point is if there is such a place."""
    shown = [*_shown(rows)]
    taken = [
        Bbox.from_bounds(x - 3, y - 3, 6, 6)
        for x, y in axis.transData.transform([own[2:4] for own in shown])
    ]
    for way, colour, *point, _ in shown:
        for *offset, end in _PLACES:
            label = axis.annotate(
                way.replace("_", " "), point, offset, textcoords="offset points",
                color=colour, fontsize=7, horizontalalignment=end,
            )  # fmt: skip
            box = label.get_window_extent()
            if axis.bbox.x0 < box.x0 and not any(box.overlaps(other) for other in taken):
                break
            label.remove()
        else:
            axis.add_artist(label)  # nowhere is free
        taken.append(box)

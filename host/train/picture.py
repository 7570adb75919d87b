"""The picture of a run: every region's statistics, state and cadence over time."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import BoundaryNorm, ListedColormap
from matplotlib.ticker import PercentFormatter

from .guesses import STATES
from .history import History, RegionHistory
from .speculation_panels import draw_times, mark_guesses
from .traffic_panels import draw_bits, draw_density

__all__ = ["draw", "mark_level"]

#: Updates over which energies are summed before their noise-to-signal ratio is taken, and over
#: which α is averaged: at two workers the ratio of a single step is singular.
_WINDOW = 16

#: Regions that still get a legend; more are told apart by colour alone, first to last layer.
_LEGEND = 12

#: Columns of a strip of decisions at most: more than the picture has pixels.
_COLUMNS = 4096

_PRECISIONS = ("INT4", "INT8", "FP16", "FP32")
_PRECISION_COLOURS = ("#e9d5ff", "#c084fc", "#7e22ce", "#3b0764")
_STATE_COLOURS = ("#d9dde3", "#7fb3d5", "#1f5f99")
_MUTED = "#6b7280"


def draw(
    history: History,
    file: Path | IO[bytes],
    *,
    title: str,
    workers: int,
    noise: float,
    settings: Mapping[str, int],
) -> None:
    """Draw a run.

    Parameters
    ----------
    history : History
        What was logged.
    file : Path or binary file
        Gets a PNG.
    title : str
        Heading.
    workers : int
        W: pure noise has an agreement of 1/W, which is marked.
    noise : float
        Noise-to-signal ratio at which cadences change, which is marked.
    settings : mapping
        Those of the Region Manager; the agreements at which states change are marked.
    """
    names = list(history.regions)
    colours = plt.get_cmap("viridis")(np.linspace(0.0, 0.88, max(len(names), 2)))
    strip = float(np.clip(0.28 * len(names), 0.7, 3.0))
    heights = [1.5, 1.5, 1.7, 1.7, 1.7, strip, strip]
    if history.flown:
        heights += [1.5]
    if history.bytes_sent:
        heights += [1.5, 1.5]
    if history.bit_operations:
        heights += [1.5]
    if history.channel_groups:
        heights += [float(np.clip(0.28 * len(history.channel_groups), 0.7, 3.0))]
    with plt.rc_context(_STYLE):
        figure, axes = plt.subplots(
            len(heights),
            figsize=(11, sum(heights) + 3.0),
            sharex=True,
            height_ratios=heights,
            layout="constrained",
        )
        loss, accuracy, energy, agreement, ratio, cadence, state, *others = axes
        _draw_loss(loss, history)
        _draw_accuracy(accuracy, history)
        for name, colour in zip(names, colours, strict=False):
            _draw_region(energy, agreement, ratio, name, colour, history.regions[name], workers)
        _finish_energy(energy)
        _finish_agreement(agreement, workers, settings)
        _finish_ratio(ratio, noise)
        _draw_cadences(cadence, history)
        _draw_states(state, history)
        if history.flown:
            draw_times(others.pop(0), history)
        if history.bytes_sent:
            of_region = dict(zip(names, colours, strict=False))
            draw_density(others.pop(0), history, of_region)
            draw_bits(others.pop(0), history, of_region)
        if history.bit_operations:
            _draw_work(others.pop(0), history)
        if history.channel_groups:
            _draw_precisions(others.pop(0), history)
        axes[-1].set_xlabel("step")
        axes[-1].set_xlim(0, max([1, *history.steps]))
        figure.suptitle(title, x=0.01, ha="left", fontweight="bold", parse_math=False)
        if len(names) <= _LEGEND:
            handles, labels = agreement.get_legend_handles_labels()
            figure.legend(handles, labels, loc="outside lower center", ncols=6, frameon=False)
        else:
            figure.supxlabel(f"{len(names)} regions, from the first (dark) to the last (light)")
        figure.savefig(file, dpi=130, format="png")
        plt.close(figure)


_STYLE: Any = {
    "font.size": 9,
    "axes.titlesize": 9.5,
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#e5e7eb",
    "grid.linewidth": 0.6,
    "lines.linewidth": 1.3,
}


def _draw_loss(axes: Axes, history: History) -> None:
    losses = [math.nan if loss is None else loss for loss in history.loss]
    axes.plot(history.steps, losses, color="#9ca3af", linewidth=0.8, **_shown(history.steps))
    axes.set_yscale("log")
    axes.set_title("training loss, mean over workers")


def _draw_accuracy(axes: Axes, history: History) -> None:
    axes.plot(history.evaluations, history.accuracy, color="#b45309", marker="o", markersize=2.5)
    axes.yaxis.set_major_formatter(PercentFormatter(1.0))
    axes.set_title("test accuracy")
    if history.accuracy:
        last = history.accuracy[-1]
        axes.annotate(
            f"{last:.2%}",
            (history.evaluations[-1], last),
            xytext=(-4, -12),
            textcoords="offset points",
            ha="right",
            color="#b45309",
        )


def _draw_region(
    energy: Axes,
    agreement: Axes,
    ratio: Axes,
    name: str,
    colour: Any,
    region: RegionHistory,
    workers: int,
) -> None:
    line = {"color": colour, "label": name, **_shown(region.step)}
    faint = {"linewidth": 0.7, "alpha": 0.45, "color": colour, **_shown(region.step)}
    energy.plot(region.step, _positive(region.local), **faint)
    energy.plot(region.step, _positive(region.average), **line)
    agreement.plot(region.step, region.alpha, **line)
    ratio.plot(region.step, _noise_to_signal(region, workers), **line)


def _shown(steps: Sequence[int]) -> dict[str, Any]:
    """Style of a line of so many points: one alone is no line."""
    return {"marker": "o", "markersize": 2.5} if len(steps) == 1 else {}


def _finish_energy(axes: Axes) -> None:
    axes.set_yscale("log")
    axes.set_title("gradient energy: of the workers' average (strong), mean of their own (faint)")


def _finish_agreement(axes: Axes, workers: int, settings: Mapping[str, int]) -> None:
    axes.set_ylim(0, 1)
    axes.set_title(f"agreement α of the workers, over about {_WINDOW} updates")
    mark_level(axes, 1 / workers, "noise alone")
    for name in ("t0", "t1", "t2"):
        if level := settings.get(name):
            mark_level(axes, level / 65536, name.upper())


def _finish_ratio(axes: Axes, noise: float) -> None:
    axes.set_yscale("log")
    axes.set_ylim(1e-2, 1e3)
    axes.set_title(f"noise-to-signal ratio of a worker's gradient, over {_WINDOW} updates")
    mark_level(axes, noise, "threshold")


def mark_level(axes: Axes, level: float, text: str) -> None:
    """Draw a level across the axes, with its name at the right end."""
    axes.axhline(level, color=_MUTED, linewidth=0.8, linestyle=(0, (4, 3)))
    axes.annotate(
        text,
        (1.0, level),
        xycoords=("axes fraction", "data"),
        xytext=(6, 0),
        textcoords="offset points",
        va="center",
        fontsize=8,
        color=_MUTED,
    )


def _draw_cadences(axes: Axes, history: History) -> None:
    longest = max((max(r.cadence, default=1) for r in history.regions.values()), default=1)
    values = [1 << k for k in range(longest.bit_length())]
    colours = plt.get_cmap("YlGnBu")(np.linspace(0.12, 0.85, len(values)))
    levels = {value: index for index, value in enumerate(values)}
    rows = {
        name: list(zip(r.step, (levels[c] for c in r.cadence), strict=True))
        for name, r in history.regions.items()
    }
    _draw_strip(axes, history, rows, colours, [str(value) for value in values])
    axes.set_title("cadence: steps per update")


def _draw_states(axes: Axes, history: History) -> None:
    rows = {
        name: list(zip(r.step, map(STATES.index, r.state), strict=True))
        for name, r in history.regions.items()
    }
    _draw_strip(axes, history, rows, _STATE_COLOURS, [s.capitalize() for s in STATES])
    axes.set_title("state: how the region would run while its update is in flight")
    if history.flown:
        mark_guesses(axes, history)


def _draw_work(axes: Axes, history: History) -> None:
    axes.plot(history.steps, history.bit_operations, color="#7c3aed", linewidth=0.8)
    axes.set_ylim(0, 1.1 * max(history.bit_operations))
    axes.set_title("bit-operations of a step, forward and backward, on this worker")


def _draw_precisions(axes: Axes, history: History) -> None:
    rows = {
        name: list(zip(decided.step, map(_PRECISIONS.index, decided.precision), strict=True))
        for name, decided in history.channel_groups.items()
    }
    _draw_strip(axes, history, rows, _PRECISION_COLOURS, _PRECISIONS)
    axes.set_title("precision: what each channel group computes in, on this worker")


def _draw_strip(
    axes: Axes,
    history: History,
    rows: Mapping[str, Sequence[tuple[int, int]]],
    colours: Any,
    labels: Sequence[str],
) -> None:
    """One horizontal band per name, coloured by a decision that holds until the next one."""
    end = max(history.steps, default=0) + 1
    edges = np.unique(np.linspace(0, end, min(end, _COLUMNS) + 1).astype(int))
    cells = np.zeros((max(len(rows), 1), len(edges) - 1), dtype=int)
    for cell, row in zip(cells, rows.values(), strict=False):
        steps, levels = zip(*row, strict=True) if row else ((0,), (0,))
        places = np.searchsorted(steps, edges[:-1], side="right") - 1
        cell[:] = np.where(places < 0, 0, np.array(levels)[places])
    norm = BoundaryNorm(np.arange(len(labels) + 1) - 0.5, len(labels))
    image = axes.pcolormesh(
        edges,
        np.arange(len(cells) + 1),
        cells,
        cmap=ListedColormap(colours),
        norm=norm,
    )
    axes.invert_yaxis()
    axes.grid(visible=False)
    axes.tick_params(axis="y", length=0)
    names = list(rows) if len(rows) <= _LEGEND else []
    axes.set_yticks(np.arange(len(names)) + 0.5, names)
    bar = axes.figure.colorbar(image, ax=axes, aspect=8, pad=0.01, ticks=range(len(labels)))
    bar.ax.set_yticklabels(labels)
    bar.ax.tick_params(length=0)
    bar.outline.set_visible(False)


def _noise_to_signal(region: RegionHistory, workers: int) -> np.ndarray:
    """W·(A − N·W) / (N·W² − A) of the last updates' sums; not drawn where there is no signal."""
    A, N = (_rolling(x) for x in (np.multiply(region.local, workers), region.average))
    with np.errstate(divide="ignore", invalid="ignore"):
        noise, signal = workers * (A - N * workers), N * workers**2 - A
        return np.where((signal > 0) & (noise > 0), noise / signal, np.nan)


def _rolling(values: Sequence[float] | np.ndarray) -> np.ndarray:
    """Sums over the last ``_WINDOW`` values, each of these alone: a large one is forgotten."""
    before = np.concatenate([np.zeros(_WINDOW - 1), np.asarray(values, dtype=float)])
    return np.lib.stride_tricks.sliding_window_view(before, _WINDOW).sum(axis=1)


def _positive(values: Sequence[float]) -> np.ndarray:
    array = np.asarray(values, dtype=float)
    return np.where(array > 0, array, np.nan)

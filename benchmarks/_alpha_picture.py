"""The picture of how far workers agree, averaged as before and as now."""

from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
from _alpha_ways import BEFORE, NOW, WAYS, WINDOW, replay, truth
from _recordings import Recording

from adagrain.host.train.picture import mark_level
from adagrain.models.region_manager.table import default_parameters

__all__ = ["draw"]

_BEFORE, _NOW, _SPECULATES = "#dc2626", "#1f5f99", "#dbeafe"


def draw(recording: Recording, path: Path) -> None:
    """Each region's truth, its α before and now, the thresholds, and where it speculates."""
    thresholds = default_parameters(recording.workers)
    figure, axes = plt.subplots(
        len(recording.regions), figsize=(11, 8), sharex=True, layout="constrained"
    )
    for axis, series, decisions in zip(axes, recording.series(), replay(recording), strict=True):
        speculates = [decision["state"] > 0 for decision in decisions]
        axis.fill_between(
            series.step, 0, 1, where=speculates, step="post", color=_SPECULATES, label="speculates"
        )
        right = truth(series, recording.workers)
        axis.plot(series.step, right, color="#111827", linewidth=0.9, label=f"last {WINDOW}, truth")
        for way, colour in ((BEFORE, _BEFORE), (NOW, _NOW)):
            alpha = WAYS[way](series, recording.workers, decisions)
            axis.plot(series.step, alpha, color=colour, linewidth=1.2, label=way)
        for name in ("t0", "t1", "t2"):
            mark_level(axis, thresholds[name] / 65536, name.upper())
        axis.set_ylim(0.35, 1)
        axis.set_xlim(0, series.step[-1])
        axis.set_title(f"agreement α of {series.region}", loc="left", fontsize=9.5)
        axis.spines[["top", "right"]].set_visible(False)
    axes[-1].set_xlabel("step")
    axes[0].legend(ncols=4, frameon=False, loc="upper right", fontsize=8)
    figure.savefig(path, dpi=110)
    plt.close(figure)

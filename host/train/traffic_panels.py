"""Panels of a run's picture: what a compressed run has sent over time."""

import math
from collections.abc import Mapping
from typing import Any

from matplotlib.axes import Axes
from matplotlib.ticker import PercentFormatter

from .history import History
from .traffic import BF16_BYTES

__all__ = ["draw_bits", "draw_density"]


def draw_density(axes: Axes, history: History, colours: Mapping[str, Any]) -> None:
    """Draw the density of each region, and the bytes so far as a part of dense BF16's.

    Parameters
    ----------
    axes : Axes
        Where.
    history : History
        The run's.
    colours : mapping
        Colour of each region.
    """
    for name, region in history.regions.items():
        densities = [sent.density or math.nan for sent in region.sent]
        axes.plot(region.step, densities, color=colours[name], linewidth=0.9)
    elements = sum(region.sent[-1].elements for region in history.regions.values() if region.sent)
    dense = [BF16_BYTES * elements * (step + 1) for step in history.steps]
    parts = [own / all_of_it for own, all_of_it in zip(history.bytes_sent, dense, strict=True)]
    axes.plot(history.steps, parts, color="black", linestyle=(0, (4, 3)))
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter(PercentFormatter(1.0))
    axes.set_title("density of what is sent; all bytes so far, of dense BF16's (dashed)")


def draw_bits(axes: Axes, history: History, colours: Mapping[str, Any]) -> None:
    """Draw the bits that each region's elements take; parameters are those of the density's."""
    for name, region in history.regions.items():
        bits = [sent.bits_per_nonzero or math.nan for sent in region.sent]
        axes.plot(region.step, bits, color=colours[name], linewidth=0.9)
    axes.set_title("bits of a non-zero element, headers and tables in")

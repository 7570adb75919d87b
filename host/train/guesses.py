"""Outcomes of guesses in a speculative run, and what they took, in its summary."""

from collections import Counter
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from .history import History, RegionHistory

__all__ = ["STATES", "guesses", "guesses_rows"]

#: Speculation states, as they are logged.
STATES = ("GLOBAL", "HYBRID", "FULL")

_COUNTS = ("guesses", "accepts", "rejects")


def guesses(history: History) -> dict[str, Any]:
    """States and guesses of a whole run, and the times of the first worker.

    Guesses are those of all workers. Seconds are sums over the steps.

    Parameters
    ----------
    history : History
        The run's.
    """
    steps = history.steps[-1] + 1 if history.steps else 0
    regions = {name: _region(own, steps) for name, own in history.regions.items()}
    counts = {key: sum(own[key] for own in regions.values()) for key in _COUNTS}
    flown = history.flown
    return {
        "passes_redone": sum(own.passes_redone for own in flown),
        "hidden": sum(own.hidden for own in flown),
        "waited": sum(own.waited for own in flown),
        "stall": sum(own.stall for own in flown),
        **counts,
        "regions": regions,
    }


def guesses_rows(found: Mapping[str, Any], steps: int) -> dict[str, str]:
    """Rows of the table that people see.

    Parameters
    ----------
    found : mapping
        What :func:`guesses` gave.
    steps : int
        Steps of the run.
    """
    return {
        "states and guesses": "\n".join(
            f"{name}: {_shown(own)}" for name, own in found["regions"].items()
        ),
        "guesses": f"{found['guesses']:,}: {_resolved(found)}",
        "passes done again": f"{found['passes_redone']:,} in {steps:,} steps",
        "exchanges": f"{found['hidden']:.2f} s hidden, {found['waited']:.2f} s waited for",
        "stall": f"{found['stall']:.2f} s",
    }


def _region(region: RegionHistory, steps: int) -> dict[str, Any]:
    accepts, trials = sum(region.accepts), sum(region.trials)
    return {
        "state": region.state[-1],
        "states": _shares(region, steps),
        "guesses": trials,
        "accepts": accepts,
        "rejects": trials - accepts,
    }


def _shares(region: RegionHistory, steps: int) -> dict[str, float]:
    """Parts of the steps for which each state held: from the step behind its decision on."""
    held: Counter[str] = Counter()
    bounds = [0, *(step + 1 for step in region.step), steps]
    for state, (begin, end) in zip((STATES[0], *region.state), pairwise(bounds), strict=True):
        held[state] += end - begin
    return {state: held[state] / steps for state in STATES}


def _shown(region: Mapping[str, Any]) -> str:
    shares = ", ".join(f"{state} {part:.0%}" for state, part in region["states"].items() if part)
    counted = f"{region['guesses']:,} guesses: {_resolved(region)}"
    return f"{region['state']} at the end; {shares}; {counted}"


def _resolved(found: Mapping[str, Any]) -> str:
    return f"{found['accepts']:,} accepted, {found['rejects']:,} rejected"

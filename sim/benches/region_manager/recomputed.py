"""Recorded decisions, recomputed by the Region Manager's compiled RTL."""

from pathlib import Path
from typing import NamedTuple

from adagrain.hdl.region_manager import RegionManager
from adagrain.models.interface.configuration import configuration
from adagrain.sim.compiled import CompiledUnit, demand

from .recorded import recorded_runs, recorded_stimuli, regions_for

__all__ = ["Recomputed", "recompute"]


class Recomputed(NamedTuple):
    """Steps, decision epochs and decisions that were the same, and cycles of all."""

    steps: int
    epochs: int
    decisions: int
    cycles: int


def recompute(path: Path, *, seed: int) -> Recomputed:
    """Have the RTL, compiled by Verilator, decide from what the workers of a run agreed on.

    Parameters
    ----------
    path : Path
        A worker's file of a recording.
    seed : int
        Of idling and back-pressure.

    Raises
    ------
    RecordingError
        If the file cannot be read.
    AssertionError
        At the first step whose decisions, or the table behind the last one, are not the recorded
        ones; the message tells them.
    ToolMissingError, BuildError, CacheError
        If the RTL cannot be compiled.
    """
    runs = recorded_runs(path)
    regions = regions_for(runs)
    component = RegionManager(configuration("full", regions=regions))
    with CompiledUnit(component, "region_manager") as unit:
        stimuli = (own for run in runs for own in recorded_stimuli(run, regions))
        cycles = demand(unit, stimuli, seed=seed)
        decisions = unit.get("decisions")
    steps = sum(len(run.decisions) for run in runs)
    return Recomputed(steps, sum(run.epochs for run in runs), decisions, cycles)

"""Bench of the Region Manager on a recorded run: it decides again what was decided then."""

import os
from pathlib import Path

from adagrain.sim.simulators.bench import Bench, bench

from .recorded import RECORDING, recorded_runs, recorded_stimuli


@bench(cycles=2_000_000)
async def decides_as_it_was_recorded(b: Bench) -> None:
    """From the integers that workers agreed on, at any idling and back-pressure."""
    regions = b.component.configuration.regions
    for recorded in recorded_runs(Path(os.environ[RECORDING])):
        await b.demand(*recorded_stimuli(recorded, regions))

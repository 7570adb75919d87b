"""Results of sums, for every number of slices: none waits for what only comes behind it."""

import os

import numpy as np
import pytest

from adagrain.models.interface.precision import INTEGERS, Precision
from adagrain.sim.benches.granularity_unit.widths import Widths, stimulus
from adagrain.sim.compiled import CompiledUnit, demand

FULL = os.environ.get("ADAGRAIN_FULL") == "1"

#: Numbers of slices: all that a configuration may have, or the ends and the fewest with which a
#: row's first word can be full before its last sum is taken.
WIDTHS = range(1, 17) if FULL else (1, 9, 16)

RUNS = 300 if FULL else 40

#: Stimuli, each at its own pace.
STIMULI = 4


@pytest.mark.parametrize("precisions", [tuple(Precision), INTEGERS], ids=["all", "integers"])
def test_results_of_every_number_of_slices(precisions: tuple[Precision, ...], seed: int) -> None:
    rng = np.random.default_rng(seed)
    with CompiledUnit(Widths(WIDTHS, precisions), "results") as unit:
        given = (stimulus(WIDTHS, precisions, RUNS, rng) for _ in range(STIMULI))
        demand(unit, given, seed=seed)

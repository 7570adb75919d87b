"""The difference unit as compiled RTL against the golden model, over many passes."""

import os
import random

import numpy as np
import pytest
import torch

from adagrain.sim.benches.difference import VARIANTS
from adagrain.sim.benches.difference.traffic import begin, random_passes, record
from adagrain.sim.compiled import CompiledUnit, check_silence, demand
from adagrain.sim.simulators.stimulus import Columns, Stimulus

FULL = os.environ.get("ADAGRAIN_FULL") == "1"

#: Times that so many passes follow each other.
TIMES = 500 if FULL else 5
PASSES = 20

#: Pairs of a long pass. A pass may have 2^31, which would take an hour.
LONG = 1 << (24 if FULL else 19)


@pytest.mark.parametrize("variant", VARIANTS)
def test_compiled_unit_equals_the_model(variant: str, seed: int) -> None:
    component, generator = VARIANTS[variant](), random.Random(seed)
    with CompiledUnit(component, "difference") as unit:
        passes = (random_passes(component, PASSES, generator) for _ in range(TIMES))
        demand(unit, passes, seed=seed)
        check_silence(unit, "o")


def test_sums_of_the_largest_differences_over_a_long_pass() -> None:
    component, lanes = VARIANTS["four_lanes"](), 4
    truth = torch.full((LONG,), torch.finfo(torch.float32).max)
    words = torch.stack([-truth, truth], dim=1).view(torch.int32).numpy().view(np.uint32)
    last = np.arange(words.size // lanes) == words.size // lanes - 1
    beats = {"data": [*words.reshape(-1, lanes).T], "keep": np.full_like(last, 15, dtype=int)}
    given = {
        "i_begin": [begin(0, random.Random(1))],
        "i": Columns(beats | {"last": last.astype(int)}),
    }
    with CompiledUnit(component, "difference") as unit:
        stimulus = Stimulus(given, {"o": [record(-truth, truth, 0)]})
        demand(unit, [stimulus], seed=1, idle=0, stall=0)

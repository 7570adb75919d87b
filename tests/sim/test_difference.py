"""The difference unit as compiled RTL against the golden model, over many passes."""

import os
import random

import pytest

from adagrain.sim.benches.difference import VARIANTS
from adagrain.sim.benches.difference.traffic import random_passes
from adagrain.sim.compiled import CompiledUnit, check_silence, demand

#: Times that so many passes follow each other.
TIMES = 500 if os.environ.get("ADAGRAIN_FULL") == "1" else 5
PASSES = 20


@pytest.mark.parametrize("variant", VARIANTS)
def test_compiled_unit_equals_the_model(variant: str, seed: int) -> None:
    component, generator = VARIANTS[variant](), random.Random(seed)
    with CompiledUnit(component, "difference") as unit:
        passes = (random_passes(component, PASSES, generator) for _ in range(TIMES))
        demand(unit, passes, seed=seed)
        check_silence(unit, "o")

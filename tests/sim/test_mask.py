"""The mask as compiled RTL against the golden model, over many regions."""

import os
import random

import pytest

from adagrain.sim.benches.mask import VARIANTS
from adagrain.sim.benches.mask.traffic import random_regions
from adagrain.sim.compiled import CompiledUnit, check_silence, demand

#: Times that so many regions follow each other.
TIMES = 40 if os.environ.get("ADAGRAIN_FULL") == "1" else 2
REGIONS = 20


@pytest.mark.parametrize("variant", VARIANTS)
def test_compiled_unit_equals_the_model(variant: str, seed: int) -> None:
    component, generator = VARIANTS[variant](), random.Random(seed)
    with CompiledUnit(component, "mask") as unit:
        stimuli = (random_regions(component, REGIONS, generator) for _ in range(TIMES))
        demand(unit, stimuli, seed=seed)
        check_silence(unit, "o")

"""The encoder as compiled RTL against the golden encoder, over many regions."""

import os
import random

import pytest

from adagrain.sim.benches.encoder import VARIANTS
from adagrain.sim.benches.encoder.traffic import random_regions
from adagrain.sim.compiled import CompiledUnit, check_silence, demand

#: Times that some regions follow each other.
TIMES = 200 if os.environ.get("ADAGRAIN_FULL") == "1" else 15


@pytest.mark.parametrize("variant", VARIANTS)
def test_compiled_unit_equals_the_model(variant: str, seed: int) -> None:
    component, generator = VARIANTS[variant](), random.Random(seed)
    with CompiledUnit(component, "encoder") as unit:
        demand(unit, random_regions(component, TIMES, generator), seed=seed)
        check_silence(unit, "o")

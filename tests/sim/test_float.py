"""The floating-point units as compiled RTL against the golden model, over many operands."""

import os

import numpy as np
import pytest

from adagrain.sim.benches.float import VARIANTS
from adagrain.sim.benches.float.traffic import stimulus
from adagrain.sim.compiled import CompiledUnit, demand

COUNT = 1_000_000 if os.environ.get("ADAGRAIN_FULL") == "1" else 50_000
CHUNK = 10_000


@pytest.mark.parametrize("variant", VARIANTS)
def test_compiled_unit_equals_the_model(variant: str, seed: int) -> None:
    component = VARIANTS[variant]()
    rng = np.random.default_rng(seed)
    with CompiledUnit(component, "float") as unit:
        chunks = range(0, COUNT, CHUNK)
        demand(unit, (stimulus(component, CHUNK, rng) for _ in chunks), seed=seed)

"""The units that rescale and pack as compiled RTL against the golden model, over many numbers."""

import os

import numpy as np
import pytest

from adagrain.hdl.rescale import Packer
from adagrain.sim.benches.rescale import VARIANTS
from adagrain.sim.benches.rescale.traffic import stimulus
from adagrain.sim.compiled import CompiledUnit, demand

FULL = os.environ.get("ADAGRAIN_FULL") == "1"

#: Numbers that go into a unit that rescales, and into one that packs.
NUMBERS = 5_000_000 if FULL else 500_000
PACKED = 250_000 if FULL else 50_000
CHUNK = 10_000


@pytest.mark.parametrize("variant", VARIANTS)
def test_compiled_unit_equals_the_model(variant: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    component = VARIANTS[variant]()
    total = PACKED if isinstance(component, Packer) else NUMBERS
    with CompiledUnit(component, "rescale") as unit:
        chunks = range(0, total, CHUNK)
        demand(unit, (stimulus(component, CHUNK, rng) for _ in chunks), seed=seed)

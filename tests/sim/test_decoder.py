"""The decoder as compiled RTL against the golden one, over sound blocks and damaged ones."""

import os
import random

import pytest

from adagrain.sim.benches.decoder import VARIANTS
from adagrain.sim.benches.decoder.traffic import random_regions, short_regions
from adagrain.sim.compiled import CompiledUnit, check_silence, demand

FULL = os.environ.get("ADAGRAIN_FULL") == "1"

#: Times that some regions follow each other.
TIMES = 60 if FULL else 3

#: Short blocks that are no encoder's.
DAMAGED = 100_000 if FULL else 500


@pytest.mark.parametrize("damage", [0.0, 0.5])
@pytest.mark.parametrize("variant", VARIANTS)
def test_compiled_unit_equals_the_model(variant: str, damage: float, seed: int) -> None:
    component, generator = VARIANTS[variant](), random.Random(seed)
    with CompiledUnit(component, "decoder") as unit:
        demand(unit, random_regions(component, TIMES, generator, damage), seed=seed)
        check_silence(unit, "o", "o_block")


@pytest.mark.parametrize("variant", VARIANTS)
def test_short_blocks_of_any_bytes_are_what_they_are_to_the_model(variant: str, seed: int) -> None:
    component, generator = VARIANTS[variant](), random.Random(seed)
    with CompiledUnit(component, "decoder") as unit:
        demand(unit, short_regions(component, DAMAGED, generator), seed=seed)
        check_silence(unit, "o", "o_block")

"""The statistics unit as compiled RTL against the golden model, over many passes."""

import os
import random

import pytest

from adagrain.sim.benches.statistics import VARIANTS
from adagrain.sim.benches.statistics.traffic import random_pass, stimuli
from adagrain.sim.compiled import CompiledUnit, check_silence, demand

PASSES = 5_000 if os.environ.get("ADAGRAIN_FULL") == "1" else 200


@pytest.mark.parametrize("variant", VARIANTS)
def test_compiled_unit_equals_the_model(variant: str, seed: int) -> None:
    generator, component = random.Random(seed), VARIANTS[variant]()
    longest = min(400, 2**component.unit.count_bits - 1)
    with CompiledUnit(component, "statistics") as unit:
        histogram = component.unit.has_histogram
        passes = (
            random_pass(generator, component.formats, longest, histogram) for _ in range(PASSES)
        )
        made = (stimulus for given in passes for stimulus in stimuli(component, given))
        demand(unit, made, seed=seed)
        check_silence(unit, "o", "o_bin")

"""The tensor input as compiled RTL against the golden conversion, over many tensors."""

import os
import random

import pytest

from adagrain.sim.benches.tensor_input import VARIANTS
from adagrain.sim.benches.tensor_input.traffic import Traffic
from adagrain.sim.compiled import CompiledUnit, check_silence, demand

TIMES = 5_000 if os.environ.get("ADAGRAIN_FULL") == "1" else 60


@pytest.mark.parametrize("variant", VARIANTS)
def test_compiled_unit_equals_the_model(variant: str, seed: int) -> None:
    component = VARIANTS[variant]()
    traffic = Traffic(component, random.Random(seed), longest=300)
    with CompiledUnit(component, "tensor_input") as unit:
        demand(unit, traffic.stimuli(TIMES), seed=seed)
        check_silence(unit, "o", "o_end", *(f"o_{number}" for number in range(component.users)))

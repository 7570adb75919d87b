"""The precision controller as compiled RTL against its golden model, over many updates."""

import os
import random

import pytest

from adagrain.sim.benches.precision_controller import VARIANTS
from adagrain.sim.benches.precision_controller.traffic import stimuli
from adagrain.sim.compiled import CompiledUnit, check_silence, demand

RECORDS = 10_000 if os.environ.get("ADAGRAIN_FULL") == "1" else 300


@pytest.mark.parametrize("variant", VARIANTS)
def test_compiled_unit_equals_the_model(variant: str, seed: int) -> None:
    component, generator = VARIANTS[variant](), random.Random(seed)
    with CompiledUnit(component, "precision_controller") as unit:
        demand(unit, stimuli(component.channel_groups, RECORDS, generator), seed=seed)
        check_silence(unit, "o", "o_access")

"""The queue as compiled RTL: what enters leaves, in order."""

import random

import pytest

from adagrain.sim.benches.queue import VARIANTS
from adagrain.sim.benches.queue.traffic import stimulus
from adagrain.sim.compiled import CompiledUnit, check_silence, demand


@pytest.mark.parametrize(
    "variant",
    [v if v == "packet" else pytest.param(v, marks=pytest.mark.full) for v in VARIANTS],
)
def test_compiled_unit_keeps_order(variant: str, seed: int) -> None:
    component, generator = VARIANTS[variant](), random.Random(seed)
    with CompiledUnit(component, "queue") as unit:
        demand(unit, (stimulus(component, 500, generator) for _ in range(10)), seed=seed)
        check_silence(unit, "o")

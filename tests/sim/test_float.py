"""The floating-point units as compiled RTL against the golden model, over many operands."""

import os

import numpy as np
import pytest

from adagrain.sim.benches.float import VARIANTS
from adagrain.sim.benches.float.traffic import expected, given, operands
from adagrain.sim.compiled import CompiledUnit

COUNT = 1_000_000 if os.environ.get("ADAGRAIN_FULL") == "1" else 50_000


@pytest.mark.parametrize("variant", VARIANTS)
def test_compiled_unit_equals_the_model(variant: str, seed: int) -> None:
    component = VARIANTS[variant]()
    columns = operands(component, COUNT, np.random.default_rng(seed))
    chances = {"idle": 64, "stall": 64}
    with CompiledUnit(component, "float") as unit:
        inputs = {"i": given(component, columns)}
        run = unit.run(inputs, {"o": COUNT}, max_cycles=20 * COUNT, seed=seed, **chances)
    wrong = np.flatnonzero(run.outputs["o"] != expected(component, columns))
    assert not wrong.size, f"{wrong.size} of {COUNT} differ, at {wrong[:5]}: seed {seed}"

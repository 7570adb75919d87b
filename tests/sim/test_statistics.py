"""The statistics unit as compiled RTL against the golden model, over many passes."""

import os
import random

import pytest
import torch

from adagrain.models.interface.formats import FormatCode
from adagrain.sim.benches.statistics import VARIANTS
from adagrain.sim.benches.statistics.traffic import Pass, random_pass, stimuli
from adagrain.sim.compiled import CompiledUnit, check_silence, demand

FULL = os.environ.get("ADAGRAIN_FULL") == "1"

PASSES = 5_000 if FULL else 200

#: Elements of a long pass. A pass may have nearly 2^32, which would take an hour.
LONG = 1 << (24 if FULL else 20)


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


@pytest.mark.parametrize("sign", [1, -1])
def test_sums_of_the_largest_elements_over_a_long_pass(sign: int) -> None:
    component = VARIANTS["full"]()
    tensor = torch.full((LONG,), sign * torch.finfo(torch.float32).max)
    with CompiledUnit(component, "statistics") as unit:
        given = Pass(tensor, FormatCode.FP32, 0, histogram=True)
        demand(unit, stimuli(component, given), seed=1, idle=0, stall=0)

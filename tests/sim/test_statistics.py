"""The statistics unit as compiled RTL against the golden model, over many passes."""

import os
import random
from dataclasses import replace

import numpy as np
import pytest

from adagrain.models.interface.records import pack, size
from adagrain.models.interface.units.statistics import BINS, StatisticsBegin, StatisticsRecord
from adagrain.models.statistics import Statistics, statistics
from adagrain.sim.benches.statistics import VARIANTS
from adagrain.sim.benches.statistics.traffic import Pass, random_pass
from adagrain.sim.compiled import CompiledUnit

PASSES = 5_000 if os.environ.get("ADAGRAIN_FULL") == "1" else 200


def run(unit: CompiledUnit, given: Pass, lanes: int, generator: random.Random) -> Statistics:
    """One pass through the unit, and its histogram where it has one."""
    begin = {name: value for name, value in given.begin().items() if name != "_reserved"}
    tensor = given.tensor.numel() | given.code << 32
    chances = {"idle": generator.choice([0, 128]), "stall": generator.choice([0, 128])}
    moved = unit.run(
        {
            "i_tensor": np.array([tensor], dtype=np.uint64),
            "i_begin": pack(StatisticsBegin, **begin),
            "i": given.words(lanes),
        },
        {"o": 1},
        max_cycles=100_000,
        seed=generator.getrandbits(32),
        **chances,
    )
    found = Statistics.from_record(moved.outputs["o"].tobytes()[: size(StatisticsRecord)])
    if not given.histogram:
        return found
    numbers = np.arange(BINS, dtype=np.uint8)
    moved = unit.run({"i_bin": numbers}, {"o_bin": BINS}, max_cycles=10_000, **chances)
    rows = moved.outputs["o_bin"].reshape(BINS, -1).tolist()
    return replace(found, histogram=tuple((row[0], row[1] | row[2] << 32) for row in rows))


@pytest.mark.parametrize("variant", VARIANTS)
def test_compiled_unit_equals_the_model(variant: str, seed: int) -> None:
    generator = random.Random(seed)
    component = VARIANTS[variant]()
    longest = min(400, 2**component.unit.count_bits - 1)
    unit = CompiledUnit(component, "statistics")
    for number in range(PASSES):
        given = random_pass(generator, component.formats, longest, component.unit.has_histogram)
        wanted = statistics(
            given.tensor,
            given.exponent,
            powers=component.unit.powers,
            histogram=given.histogram,
            kernel="reference",
        )
        found = run(unit, given, component.unit.lanes, generator)
        assert found == wanted, f"pass {number}: seed {seed}"
    unit.close()

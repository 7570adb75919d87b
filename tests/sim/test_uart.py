"""The serial line as compiled RTL: it carries bytes at any delay shorter than a byte takes."""

import random

import pytest

from adagrain.sim.benches.uart import VARIANTS
from adagrain.sim.benches.uart.traffic import stimulus
from adagrain.sim.compiled import CompiledUnit, check_silence, demand

#: More than a byte takes on the slowest line.
CYCLES = 1000


@pytest.mark.parametrize(
    "variant",
    [v if v == "odd" else pytest.param(v, marks=pytest.mark.full) for v in VARIANTS],
)
def test_compiled_line_carries_bytes(variant: str, seed: int) -> None:
    generator = random.Random(seed)
    stall = generator.choice([0.0, 0.5])
    with CompiledUnit(VARIANTS[variant](), "uart") as unit:
        demand(unit, [stimulus(1_000, generator)], seed=seed, stall=stall, cycles=CYCLES)
        check_silence(unit, "o")
        assert not any(unit.get("counters").values())

"""The units that rescale and pack as compiled RTL against the golden model, over many numbers."""

import os

import numpy as np
import pytest

from adagrain.hdl.rescale import Packer
from adagrain.sim.benches.rescale import VARIANTS
from adagrain.sim.benches.rescale.traffic import exchanged
from adagrain.sim.compiled import CompiledUnit

FULL = os.environ.get("ADAGRAIN_FULL") == "1"

#: Numbers that go into a unit that rescales, and into one that packs.
NUMBERS = 5_000_000 if FULL else 500_000
PACKED = 250_000 if FULL else 50_000
CHUNK = 500_000


@pytest.mark.parametrize("variant", VARIANTS)
def test_compiled_unit_equals_the_model(variant: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    component = VARIANTS[variant]()
    total = PACKED if isinstance(component, Packer) else NUMBERS
    with CompiledUnit(component, "rescale") as unit:
        for _ in range(0, total, CHUNK):
            count = min(CHUNK, total)
            given, wanted = exchanged(component, count, rng)
            run = unit.run(
                {"i": given.astype(np.uint64)},
                {"o": len(wanted)},
                max_cycles=20 * len(given),
                seed=seed,
                idle=64,
                stall=64,
            )
            wrong = np.flatnonzero(run.outputs["o"] != wanted.astype(np.uint64))
            report = [
                f"{given[n]:#x}: {wanted[n]:#x}, not {run.outputs['o'][n]:#x}" for n in wrong[:3]
            ]
            assert not wrong.size, f"{wrong.size} of {len(wanted)} differ: {report}: seed {seed}"

"""What becomes of sums, for every number of slices: none waits for what only comes behind it."""

import os
import random

import numpy as np
import pytest

from adagrain.models.interface.precision import INTEGERS, Precision
from adagrain.sim.benches.granularity_unit.widths import Widths, random_rows
from adagrain.sim.compiled import CompiledUnit
from adagrain.sim.compiled.ports import ports_of

FULL = os.environ.get("ADAGRAIN_FULL") == "1"

#: Numbers of slices: all that a configuration may have, or the ends and the fewest with which a
#: row's first word can be full before its last sum is taken.
WIDTHS = range(1, 17) if FULL else (1, 9, 16)

RUNS = 300 if FULL else 40

#: Chances in 256 that a row, or a run, is held back, and that a result is not taken.
PACES = [(0, 0), (0, 200), (200, 0), (100, 100)]


@pytest.mark.parametrize("precisions", [tuple(Precision), INTEGERS], ids=["all", "integers"])
def test_results_of_every_number_of_slices(precisions: tuple[Precision, ...]) -> None:
    seed = random.SystemRandom().getrandbits(32)
    rng = np.random.default_rng(seed)
    component = Widths(WIDTHS, precisions)
    sizes = {port.name: port.nbytes for port in ports_of(component).inputs}
    with CompiledUnit(component, "results") as unit:
        for idle, stall in PACES:
            exponents = rng.integers(-20, 21, max(WIDTHS)).tolist()
            for number, exponent in enumerate(exponents):
                unit.set(f"exponents__{number}", exponent)
            inputs, wanted = {}, {}
            for width in WIDTHS:
                runs, rows, found = random_rows(exponents[:width], precisions, RUNS, rng)
                size, run_size = sizes[f"i_{width}"], sizes[f"i_run_{width}"]
                inputs |= {
                    f"i_run_{width}": b"".join(run.ljust(run_size, b"\0") for run in runs),
                    f"i_{width}": b"".join(row.to_bytes(size, "little") for row in rows),
                }
                wanted[f"o_{width}"] = np.array(found, dtype=np.uint64)
            run = unit.run(
                inputs,
                {name: len(found) for name, found in wanted.items()},
                max_cycles=8 * RUNS * 8 * max(WIDTHS),
                idle=idle,
                stall=stall,
                seed=seed,
            )
            for name, found in wanted.items():
                wrong = np.flatnonzero(run.outputs[name] != found)
                report = [f"{found[n]:#x}, not {run.outputs[name][n]:#x}" for n in wrong[:3]]
                assert not wrong.size, f"{name}: {wrong.size} differ: {report}: seed {seed}"

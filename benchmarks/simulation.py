"""Speed of data through `statistics`: compiled in process, against cocotb with Icarus.

Same RTL (lanes, formats and powers of the device preset `full`, with its histogram), same data,
same record at the end. Icarus, with its thousand cycles a second, gets a short part of the tensor.
"""

import json
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
from _report import report

from adagrain.models.interface.records import pack
from adagrain.models.interface.units.statistics import StatisticsBegin
from adagrain.sim.benches.statistics import VARIANTS
from adagrain.sim.compiled import CompiledUnit
from adagrain.sim.simulators import runner

VARIANT = "full"
EXPONENT = 127
ELEMENTS = 4_000_000
ELEMENTS_ICARUS = 40_000
REPEATS = 5
GOAL = 300
#: Streams that get one element each, before the tensor.
HEADS = ("i_tensor", "i_begin")


class Measurement(NamedTuple):
    """Costs of a pass."""

    seconds: float
    cycles: int


def main() -> None:
    tensor = np.random.default_rng(1).standard_normal(ELEMENTS).astype(np.float32)
    short = tensor[:ELEMENTS_ICARUS]
    with CompiledUnit(VARIANTS[VARIANT](), "statistics") as unit:
        compiled = min(_compiled(unit, tensor)[0] for _ in range(REPEATS))
        _, record = _compiled(unit, short)
    icarus, record_icarus = _icarus(short)
    if record != record_icarus:
        sys.exit(f"records differ: {record:#x} compiled, {record_icarus:#x} in Icarus")
    speed = ELEMENTS / compiled.seconds
    speed_icarus = ELEMENTS_ICARUS / icarus.seconds
    report(
        "simulation",
        {
            "compiled_elements_per_second": speed,
            "compiled_cycles_per_second": compiled.cycles / compiled.seconds,
            "icarus_elements_per_second": speed_icarus,
            "icarus_cycles_per_second": icarus.cycles / icarus.seconds,
            "ratio": speed / speed_icarus,
            "goal": GOAL,
        },
    )
    if speed < GOAL * speed_icarus:
        sys.exit(f"ratio must be at least {GOAL}, not {speed / speed_icarus:.0f}")


def _pass(tensor: np.ndarray) -> tuple[dict[str, np.ndarray], dict[str, int]]:
    """Inputs and outputs of one pass."""
    begin = pack(StatisticsBegin, count=len(tensor), exponent=EXPONENT, histogram=1)
    inputs = {
        "i_tensor": np.array([len(tensor)], np.uint64),  # format 0 is FP32
        "i_begin": np.frombuffer(begin, np.uint64),
        "i": tensor,
    }
    return inputs, {"o": 1}


def _compiled(unit: CompiledUnit, tensor: np.ndarray) -> tuple[Measurement, int]:
    """Cycles and seconds of one pass, and its record."""
    inputs, outputs = _pass(tensor)
    started = time.perf_counter()
    run = unit.run(inputs, outputs, max_cycles=2 * len(tensor) + 1000)
    seconds = time.perf_counter() - started
    return Measurement(seconds, run.cycles), int.from_bytes(run.outputs["o"].tobytes(), "little")


def _icarus(tensor: np.ndarray) -> tuple[Measurement, int]:
    """The same under cocotb with Icarus; the time is that of the simulation alone."""
    inputs, _ = _pass(tensor)
    with tempfile.TemporaryDirectory() as scratch:
        answer, elements = Path(scratch, "answer.json"), Path(scratch, "elements.npy")
        np.save(elements, tensor)
        os.environ |= {"BENCHMARK_ANSWER": str(answer), "BENCHMARK_ELEMENTS": str(elements)}
        os.environ |= {f"BENCHMARK_{name.upper()}": str(inputs[name][0]) for name in HEADS}
        runner.run("statistics", VARIANT, "icarus", seed=1, bench="_simulation_bench")
        result = json.loads(answer.read_text())
    return Measurement(result["seconds"], result["cycles"]), result["record"]


if __name__ == "__main__":
    main()

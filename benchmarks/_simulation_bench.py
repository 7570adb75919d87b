"""The cocotb half of `simulation.py`: one pass, timed. It runs inside Icarus."""

import json
import os
import time
from pathlib import Path

import numpy as np
from cocotb.triggers import RisingEdge

from adagrain.sim.simulators.bench import Bench, bench
from adagrain.sim.simulators.payload import encode


@bench(cycles=1_000_000)
async def one_pass(b: Bench) -> None:
    """Offers a group of elements in every cycle, with as little Python in between as can be."""
    elements = np.load(os.environ["BENCHMARK_ELEMENTS"])
    for name in ("i_tensor", "i_begin"):
        await _give(b, name, [int(os.environ[f"BENCHMARK_{name.upper()}"])])
    output = b.sink("o", stall=0)
    groups = [int.from_bytes(group.tobytes(), "little") for group in elements.reshape(-1, 4)]
    cycle, started = b.cycle, time.perf_counter()
    await _give(b, "i", groups)
    (record,) = await output.take()
    seconds = time.perf_counter() - started
    answer = {
        "seconds": seconds,
        "cycles": b.cycle - cycle,
        "record": encode(b.shape("o"), record),
    }
    Path(os.environ["BENCHMARK_ANSWER"]).write_text(json.dumps(answer))


async def _give(b: Bench, name: str, payloads: list[int]) -> None:
    payload, valid, ready = (b.port(f"{name}__{end}") for end in ("payload", "valid", "ready"))
    valid.value = 1
    for bits in payloads:
        payload.value = bits
        await RisingEdge(b.dut.clk)
        while not ready.value:
            await RisingEdge(b.dut.clk)
    valid.value = 0

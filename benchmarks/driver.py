"""Part of the compiled RTL's speed that is left when the driver stands in front of it.

The driver takes the statistics of the six gradients of the digits network, over and over; its
clock cycles per second, from the device's own counter, are compared with those of the bare clock
loop on the same design.
"""

import sys
import time

import torch
from _report import report

import adagrain
from adagrain.hdl.device.coprocessor import Coprocessor
from adagrain.sim.compiled import CompiledUnit

SHAPES = ((128, 64), (128,), (64, 128), (64,), (10, 64), (10,))
ROUNDS = 30
REPEATS = 5
BARE_CYCLES = 200_000
GOAL = 0.6


def main() -> None:
    torch.manual_seed(1)
    gradients = [torch.randn(shape) * 1e-3 for shape in SHAPES]
    with adagrain.open_device("sim:") as device:
        parameters = device.configuration
        with CompiledUnit(
            Coprocessor(parameters), "coprocessor", made_from=repr(parameters)
        ) as unit:
            # in turns, so that other work on the machine slows both alike
            pairs = [(_driven(device, gradients), _bare(unit)) for _ in range(REPEATS)]
    driven, bare = (max(speeds) for speeds in zip(*pairs, strict=True))
    report(
        "driver",
        {
            "bare_cycles_per_second": bare,
            "driven_cycles_per_second": driven,
            "ratio": driven / bare,
            "goal": GOAL,
        },
    )
    if driven < GOAL * bare:
        sys.exit(f"ratio must be at least {GOAL}, not {driven / bare:.2f}")


def _driven(device: adagrain.Coprocessor, gradients: list[torch.Tensor]) -> float:
    before, started = device.counters()["cycles"], time.perf_counter()
    for _ in range(ROUNDS):
        for gradient in gradients:
            device.statistics(gradient, exponent=-8)
    seconds = time.perf_counter() - started
    return (device.counters()["cycles"] - before) / seconds


def _bare(unit: CompiledUnit) -> float:
    started = time.perf_counter()
    unit.step(BARE_CYCLES)
    return BARE_CYCLES / (time.perf_counter() - started)


if __name__ == "__main__":
    main()

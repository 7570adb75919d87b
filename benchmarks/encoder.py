"""Speed and size of the encoder's gateware: cycles by density, clock and cells on an ECP5.

Random elements on compiled RTL, whose blocks must be the golden encoder's; clock and size placed
alone over three seeds.
"""

import sys
from collections.abc import Iterator
from random import Random
from statistics import median
from typing import Any

import torch
from _report import report
from rich.console import Console

from adagrain.hdl.codec import Encoder
from adagrain.hdl.flow import place_alone
from adagrain.models.codec import build_table, histogram
from adagrain.models.interface.codec import BLOCK
from adagrain.sim.benches.encoder.traffic import Region, codes, regions
from adagrain.sim.compiled import CompiledUnit, demand
from adagrain.sim.simulators.stimulus import Stimulus

#: Blocks of the tensor.
BLOCKS = 32

#: Shares of beats that are taken, at least, where one element a cycle comes.
SHARE = 0.97

#: Input in MB/s for each 1000 cells, at 1 % density: four times that of Vitis' GZip.
RATE = 4 * 35


def main() -> None:
    """Measure cycles for each number of lanes, and the one of the board placed alone."""
    figures: dict[str, Any] = {}
    for lanes in (1, 2, 4):
        figures |= {f"lanes_{lanes}_{name}": share for name, share in measured(lanes)}
    with Console().status("") as status:
        found = place_alone("encoder", "ulx3s", 100, progress=status.update)
    clock, cells = median(one.megahertz for one in found), found[0].usage["LUT"]
    figures["alone"] = {
        "LUT": cells,
        "block RAM": found[0].usage["block RAM"],
        "MHz": [round(one.megahertz, 1) for one in found],
        "median MHz": clock,
    }
    rate = 2 * 4 * clock * figures["lanes_4_beats_per_cycle_at_0.01"] / (cells / 1000)
    figures["input_mb_s_per_1000_lut_at_0.01"] = rate
    report("encoder", figures)
    slow = [
        f"{name} must be at least {least}, not {figures[name]:.3f}"
        for name, least in (
            ("lanes_4_beats_per_cycle_at_0.2", 1 - 1 / BLOCKS),
            ("lanes_4_beats_per_cycle_at_0.25", SHARE),
            ("input_mb_s_per_1000_lut_at_0.01", RATE),
        )
        if figures[name] < least
    ]
    sys.exit("; ".join(slow) or None)


def measured(lanes: int) -> Iterator[tuple[str, float]]:
    """Beats, or elements, that are taken per cycle, at some densities."""
    with CompiledUnit(Encoder(lanes), "encoder") as unit:
        for density in (0.01, 0.8 / lanes, 1 / lanes, 1.0):
            draw = torch.Generator().manual_seed(0)
            kept = torch.rand(BLOCKS * BLOCK, generator=draw) < density
            tensor = torch.where(kept, torch.randn(BLOCKS * BLOCK, generator=draw), 0.0).bfloat16()
            cycles = _cycles(unit, lanes, tensor)
            if density == 1:
                yield "elements_per_cycle_at_1", BLOCKS * BLOCK / cycles
            else:
                yield f"beats_per_cycle_at_{density:g}", BLOCKS * BLOCK / lanes / cycles


def _cycles(unit: CompiledUnit, lanes: int, tensor: torch.Tensor) -> int:
    """Cycles until the last word is out."""
    table = build_table(histogram([tensor], exponents=[128]).sum(axis=0))
    given = regions(lanes, [Region(tensor, 128, 7, 0)], [table], Random(0))
    demand(unit, [Stimulus({"i_code": codes(table, 0)})], seed=0)
    return demand(unit, [given], seed=0, idle=0, stall=0)


if __name__ == "__main__":
    main()

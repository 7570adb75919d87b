"""Speed and size of the encoder's gateware: cycles by density, clock and cells on an ECP5.

Random elements on compiled RTL, whose blocks must be the golden encoder's; clock and size placed
alone over three seeds.
"""

import sys
from collections.abc import Iterator
from random import Random
from typing import Any

import torch
from _codec_units import ELEMENTS, alone, fallen_short, sparse
from _report import report

from adagrain.hdl.codec import Encoder
from adagrain.models.codec import build_table, histogram
from adagrain.sim.benches.encoder.traffic import Region, codes, regions
from adagrain.sim.compiled import CompiledUnit, demand
from adagrain.sim.simulators.stimulus import Stimulus

#: Shares of beats that are taken: all of them up to 0.8 / L, but for the way of the last one out;
#: where an element comes in each cycle; of elements, where nothing is zero. And the input in MB/s
#: for each 1000 cells, at 1 % density: four times that of Vitis' GZip.
AIMS = {
    "lanes_4_beats_per_cycle_at_0.2": 0.999,
    "lanes_4_beats_per_cycle_at_0.25": 0.97,
    "lanes_4_elements_per_cycle_at_1": 0.97,
    "input_mb_s_per_1000_lut_at_0.01": 4 * 35,
}


def main() -> None:
    """Measure cycles for each number of lanes, and the one of the board placed alone."""
    figures: dict[str, Any] = {}
    for lanes in (1, 2, 4):
        figures |= {f"lanes_{lanes}_{name}": share for name, share in measured(lanes)}
    placed = figures["alone"] = alone("encoder")
    rate = 2 * 4 * placed["median MHz"] * figures["lanes_4_beats_per_cycle_at_0.01"]
    figures["input_mb_s_per_1000_lut_at_0.01"] = rate / (placed["LUT"] / 1000)
    report("encoder", figures)
    sys.exit(fallen_short(figures, AIMS))


def measured(lanes: int) -> Iterator[tuple[str, float]]:
    """Beats, or elements, that are taken per cycle, at some densities."""
    with CompiledUnit(Encoder(lanes), "encoder") as unit:
        for density in (0.01, 0.8 / lanes, 1 / lanes, 1.0):
            cycles = _cycles(unit, lanes, sparse(density))
            if density == 1:
                yield "elements_per_cycle_at_1", ELEMENTS / cycles
            else:
                yield f"beats_per_cycle_at_{density:g}", ELEMENTS / lanes / cycles


def _cycles(unit: CompiledUnit, lanes: int, tensor: torch.Tensor) -> int:
    """Cycles until the last word is out."""
    table = build_table(histogram([tensor], exponents=[128]).sum(axis=0))
    given = regions(lanes, [Region(tensor, 128, 7, 0)], [table], Random(0))
    demand(unit, [Stimulus({"i_code": codes(table, 0)})], seed=0)
    return demand(unit, [given], seed=0, idle=0, stall=0)


if __name__ == "__main__":
    main()

"""Speed and size of the decoder's gateware: cycles by density, clock and cells on an ECP5.

Blocks of random elements on compiled RTL, which must give the golden decoder's; clock and size
placed alone over three seeds.
"""

import sys
from collections.abc import Iterator
from random import Random
from typing import Any

import torch
from _codec_units import ELEMENTS, alone, fallen_short, sparse
from _report import report

from adagrain.hdl.codec import Decoder
from adagrain.models.codec import DEFAULT_TABLES
from adagrain.models.interface.codec import BLOCK, TableNumber
from adagrain.sim.benches.decoder.traffic import coded_region, entries, regions
from adagrain.sim.compiled import CompiledUnit, demand
from adagrain.sim.simulators.stimulus import Stimulus

#: An element in two cycles, and a beat of zeros in each.
AIMS = {"lanes_4_elements_per_cycle_at_1": 0.5, "lanes_4_beats_per_cycle_at_0": 1.0}


def main() -> None:
    """Measure cycles for each number of lanes, and the one of the board placed alone."""
    figures: dict[str, Any] = {}
    for lanes in (1, 2, 4):
        figures |= {f"lanes_{lanes}_{name}": share for name, share in measured(lanes)}
    figures["alone"] = alone("decoder")
    report("decoder", figures)
    sys.exit(fallen_short(figures, AIMS))


def measured(lanes: int) -> Iterator[tuple[str, float]]:
    """Elements or beats per cycle; between, the part of what both of them allow.

    Of the second half of a tensor, which begins while the first one is under way: the cycles that
    it takes more with both than with the first one alone.
    """
    unit = Decoder(lanes)
    with CompiledUnit(unit, "decoder") as compiled:
        for density in (0.0, 0.01, 0.25 / lanes, 0.5 / lanes, 1.0):
            both = sparse(density)
            first, second = both.chunk(2)
            elements, beats = int(second.count_nonzero()), ELEMENTS // 2 / lanes
            cycles = _cycles(compiled, unit, both) - _cycles(compiled, unit, first)
            if density == 1:
                yield "elements_per_cycle_at_1", elements / cycles
            elif density == 0:
                yield "beats_per_cycle_at_0", beats / cycles
            else:
                yield f"of_what_is_allowed_at_{density:g}", max(2 * elements, beats) / cycles


def _cycles(compiled: CompiledUnit, unit: Decoder, tensor: torch.Tensor) -> int:
    """Cycles until the last beat is out."""
    table = DEFAULT_TABLES[TableNumber.WIDE]
    region = coded_region(tensor, 128, 7, 1, table)
    coded = sum(bool(raw) for raw, _ in region.blocks)
    if coded != (full := sum(bool(part.any()) for part in tensor.split(BLOCK))):
        raise RuntimeError(f"all blocks with elements must be coded, not {coded} of {full}")
    demand(compiled, [Stimulus({"i_table": entries(table, 1)})], seed=0)
    given = regions(unit, [region], [table, table], Random(0))
    return demand(compiled, [given], seed=0, idle=0, stall=0)


if __name__ == "__main__":
    main()

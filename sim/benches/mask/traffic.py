"""Regions for the mask, and what the golden model keeps of them."""

from random import Random
from typing import Any

import torch

from adagrain.hdl.mask import Mask
from adagrain.models.interface.units.statistics import BINS
from adagrain.models.mask import masked
from adagrain.sim.benches.encoder.traffic import beats, random_region
from adagrain.sim.simulators.stimulus import Stimulus

__all__ = ["random_regions"]


def random_regions(unit: Mask, count: int, generator: Random) -> Stimulus:
    """So many regions back to back, each with a table and a base of its own."""
    parameters: list[dict[str, int]] = []
    given: list[dict[str, Any]] = []
    wanted: list[dict[str, Any]] = []
    for _ in range(count):
        region, keep = random_region(generator, slot=0), _random_table(generator)
        smallest = generator.randrange(region.tensor.numel())
        region.tensor.view(torch.int16)[smallest] = 1  # below the last bin, where the base is large
        parameters.append(
            {
                "exponent": region.exponent,
                "bf16": int(region.tensor.dtype == torch.bfloat16),
                "keep": keep,
            }
        )
        table = [keep >> number & 1 for number in range(BINS)]
        given += beats(unit.lanes, region.tensor, generator)
        kept = masked(region.tensor, region.exponent, table)
        wanted += beats(unit.lanes, kept)
    return Stimulus({"i_region": parameters, "i": given}, {"o": wanted})


def _random_table(generator: Random) -> int:
    """A threshold's, any, or one that keeps all or nothing."""
    return generator.choice(
        [
            (1 << generator.randrange(BINS + 1)) - 1,
            generator.getrandbits(BINS),
            1 << generator.randrange(BINS),
        ]
    )

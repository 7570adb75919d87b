"""Compiled units that are reset in mid-work: what comes behind is as if nothing had been before.

A reset leaves memories as they are: the tables of the codec's units are written once, before all.
"""

import os
import random
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from typing import Any

import numpy as np
import pytest

from adagrain.models.granularity_unit import TileModel
from adagrain.models.interface.codec import SLOTS
from adagrain.sim.benches.decoder import traffic as decoder
from adagrain.sim.benches.difference.traffic import random_passes
from adagrain.sim.benches.dot_product import traffic as dot_product
from adagrain.sim.benches.encoder import traffic as encoder
from adagrain.sim.benches.float import traffic as floats
from adagrain.sim.benches.granularity_unit.traffic import random_tile
from adagrain.sim.benches.mask import traffic as mask
from adagrain.sim.benches.precision_controller import traffic as precision_controller
from adagrain.sim.benches.queue import traffic as queue
from adagrain.sim.benches.region_manager import traffic as region_manager
from adagrain.sim.benches.rescale import traffic as rescale
from adagrain.sim.benches.slice.traffic import Pairs
from adagrain.sim.benches.statistics import traffic as statistics
from adagrain.sim.benches.tensor_input.traffic import Traffic
from adagrain.sim.compiled import CompiledUnit, DeadlockError, demand
from adagrain.sim.simulators.stimulus import Stimulus

RESETS = 300 if os.environ.get("ADAGRAIN_FULL") == "1" else 8

#: Variants that CI compiles for other tests as well, or quickly.
VARIANTS = {
    "decoder": ("one_lane", "two_lanes", "four_lanes"),
    "difference": ("one_lane", "two_lanes", "four_lanes"),
    "dot_product": ("eight_sums", "eight_of_integers"),
    "encoder": ("one_lane", "two_lanes", "four_lanes"),
    "float": ("multiply_fp32", "add_fp32", "widen", "narrow"),
    "granularity_unit": ("integers_four_slices",),
    "mask": ("one_lane", "two_lanes", "four_lanes"),
    "precision_controller": ("two_channel_groups",),
    "queue": ("packet",),
    "region_manager": ("tiny",),
    "rescale": ("numbers", "integers", "rows", "rows_of_integers"),
    "slice": ("all_modes",),
    "statistics": ("tiny", "small", "full"),
    "tensor_input": ("one_lane", "two_lanes", "four_lanes"),
}


class Draw:
    """Random numbers of either kind, and the tables of the codec's units."""

    def __init__(self, seed: int) -> None:
        self.random, self.rng = random.Random(seed), np.random.default_rng(seed)
        self.tables = [encoder.random_table(self.random) for _ in range(SLOTS)]
        self.slots = [self.random.randrange(SLOTS) for _ in range(2)]


def first(unit: str, draw: Draw) -> list[Stimulus]:
    """What is written before all resets."""
    tables = list(enumerate(draw.tables))
    if unit == "encoder":
        return [Stimulus({"i_code": encoder.codes(table, slot)}) for slot, table in tables]
    if unit == "decoder":
        return [Stimulus({"i_table": decoder.entries(table, slot)}) for slot, table in tables]
    return []


def encoded(unit: Any, draw: Draw) -> list[Stimulus]:
    some = [encoder.random_region(draw.random, slot) for slot in draw.slots]
    return [encoder.regions(unit.lanes, some, draw.tables, draw.random)]


def decoded(unit: Any, draw: Draw) -> list[Stimulus]:
    some = [decoder.random_region(draw.tables, slot, draw.random, 0.2) for slot in draw.slots]
    return [decoder.regions(unit, some, draw.tables, draw.random)]


def tile(unit: Any, draw: Draw) -> list[Stimulus]:
    model = TileModel(unit.slices, unit.words)
    return random_tile(model, unit.slices, draw.rng, unit.precisions).stimuli()


def counted(unit: Any, draw: Draw) -> list[Stimulus]:
    given = statistics.random_pass(draw.random, unit.formats, 200, unit.unit.has_histogram)
    return statistics.stimuli(unit, given)


def run(unit: Any, draw: Draw) -> list[Stimulus]:
    regions = unit.configuration.regions
    (made,) = region_manager.runs(draw.random.getrandbits(32), 1, regions, steps=6)
    return list(region_manager.stimuli(made, regions))


#: Some work of each unit: stimuli that belong together.
WORK: dict[str, Callable[[Any, Draw], list[Stimulus]]] = {
    "decoder": decoded,
    "difference": lambda unit, draw: [random_passes(unit, 4, draw.random)],
    "dot_product": lambda unit, draw: [
        dot_product.stimulus(30, 8, draw.rng, longest=20, precisions=unit.PRECISIONS)
    ],
    "encoder": encoded,
    "float": lambda unit, draw: [floats.stimulus(unit, 50, draw.rng)],
    "granularity_unit": tile,
    "mask": lambda unit, draw: [mask.random_regions(unit, 2, draw.random)],
    "precision_controller": lambda unit, draw: list(
        precision_controller.stimuli(unit.channel_groups, 3, draw.random)
    ),
    "queue": lambda unit, draw: [queue.stimulus(unit, 50, draw.random)],
    "region_manager": run,
    "rescale": lambda unit, draw: [rescale.stimulus(unit, 50, draw.rng)],
    "slice": lambda unit, draw: [Pairs.random(50, draw.rng).stimulus()],
    "statistics": counted,
    "tensor_input": lambda unit, draw: list(Traffic(unit, draw.random).stimuli(1)),
}


@pytest.mark.parametrize(
    ("name", "variant"), [(name, one) for name, some in VARIANTS.items() for one in some]
)
def test_nothing_is_left_of_what_a_reset_cut_off(name: str, variant: str, seed: int) -> None:
    component = import_module(f"adagrain.sim.benches.{name}").VARIANTS[variant]()
    draw = Draw(seed)
    work = WORK[name](component, draw)
    with CompiledUnit(component, name) as unit:
        demand(unit, first(name, draw), seed=seed)
        for _ in range(RESETS):
            begin(unit, work, draw.random)
            unit.reset()
            work = WORK[name](component, draw)
            demand(unit, work, seed=draw.random.getrandbits(32))


def begin(unit: CompiledUnit, work: list[Stimulus], generator: random.Random) -> None:
    """Do work up to some cycle of some stimulus; what it has brought till then is not looked at."""
    cut = generator.randrange(len(work))
    demand(unit, work[:cut], seed=generator.getrandbits(32))
    for port, value in work[cut].ports.items():
        unit.set(port, value)
    given, wanted = (
        {stream: unit.stream(stream).encode(elements) for stream, elements in side.items()}
        for side in (work[cut].inputs, work[cut].outputs)
    )
    counts = {stream: len(elements) for stream, elements in wanted.items()}
    longest = max(len(elements) for elements in (*given.values(), *wanted.values()))
    with suppress(DeadlockError):
        unit.run(
            given,
            counts,
            max_cycles=generator.randrange(2 * longest + 20),
            idle=generator.choice((0, 128)),
            stall=generator.choice((0, 128)),
            seed=generator.getrandbits(32),
        )

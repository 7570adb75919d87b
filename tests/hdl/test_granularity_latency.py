"""When results of a granularity unit's runs leave."""

import pytest
from amaranth.sim import Simulator, SimulatorContext

from adagrain.hdl.dot_product import DotProduct, IntegerDotProduct
from adagrain.hdl.granularity_unit import GranularityUnit
from adagrain.hdl.rescale import IntegerRescale, Rescale
from adagrain.models.interface.precision import INTEGERS, Precision

SLICES = 2
FP32, FP16, INT8, _ = Precision


def observed(
    precisions: tuple[Precision, ...], mode: Precision, rows: int, words: int, *, scaled: bool
) -> tuple[list[int], list[int]]:
    """Cycles of one run: those that multiply, and those in which results leave."""
    unit = GranularityUnit(SLICES, 64, precisions)
    multiplying, leaving = [], []
    run = {"words": words, "rows": rows, "mode": mode, "first": 1, "last": 1}

    async def bench(ctx: SimulatorContext) -> None:
        ctx.set(unit.o.ready, 1)
        ctx.set(unit.i.payload, run | {"scaled": scaled, "to": mode})
        ctx.set(unit.i.valid, 1)
        for cycle in range(120):
            signals = unit.i.ready, unit.multiplies, unit.o.valid
            *_, ready, multiplies, valid = await ctx.tick().sample(*signals)
            if ready:
                ctx.set(unit.i.valid, 0)
            multiplying.extend([cycle] * multiplies)
            leaving.extend([cycle] * valid)

    simulator = Simulator(unit)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()
    return multiplying, leaving


def of_scaling(to: Precision, latency: int) -> int:
    """Cycles more until a row's first word is whole."""
    return latency + min(to.lanes, SLICES)


def queued(begins: list[int]) -> list[int]:
    """When rows leave that could from these cycles on: one after the other."""
    found: list[int] = []
    for cycle in begins:
        found.append(max(cycle, found[-1] + SLICES + 1 if found else 0))
    return found


@pytest.mark.parametrize("scaled", [False, True])
@pytest.mark.parametrize(
    ("rows", "words"), [pytest.param(1, 1, marks=pytest.mark.full), (3, 4), (8, 4)]
)
@pytest.mark.parametrize("mode", [FP32, FP16, INT8])
def test_rows_queue_behind_the_first(mode: Precision, rows: int, words: int, scaled: bool) -> None:
    multiplying, leaving = observed(tuple(Precision), mode, rows, words, scaled=scaled)
    gaps = (7 - rows) * (words - 1) if mode is FP32 and rows < 7 else 0
    assert multiplying[-1] - multiplying[0] == rows * words + gaps - 1
    later = DotProduct.LATENCY + 3 + scaled * of_scaling(mode, Rescale.LATENCY)
    begins = leaving[:: len(leaving) // rows]
    assert begins == queued([cycle + later for cycle in multiplying[-rows:]])


@pytest.mark.parametrize("scaled", [False, True])
@pytest.mark.parametrize(
    ("rows", "words"), [(1, 1), pytest.param(3, 4, marks=pytest.mark.full), (8, 4), (8, 1)]
)
def test_integers_alone_go_row_by_row(rows: int, words: int, scaled: bool) -> None:
    multiplying, leaving = observed(INTEGERS, INT8, rows, words, scaled=scaled)
    later = IntegerDotProduct.LATENCY + 1 + scaled * of_scaling(INT8, IntegerRescale.LATENCY)
    begins = leaving[:: len(leaving) // rows]
    assert begins == queued([cycle + later for cycle in multiplying[words - 1 :: words]])

"""Parts of the Region Manager: the divider, and what the layouts promise."""

import random

import pytest
from amaranth.sim import Simulator, SimulatorContext

from adagrain.hdl.arithmetic.ratio import Ratio
from adagrain.hdl.region_manager.layouts import HEAD_WORDS, WORD_BITS, Head, Word
from adagrain.models.interface.units.region_manager import (
    RegionParameters,
    RegionRecord,
    RegionStep,
    RegionUpdate,
)


@pytest.mark.parametrize("unroll", [1, 2, 4])
def test_ratio_equals_the_integer_quotient(unroll: int) -> None:
    rng = random.Random(unroll)
    cases = [(0, 0), (0, 5), (1, 0), (5, 5), (4, 5), (2**32 - 2, 2**32 - 1), (2**32 - 1, 1)]
    for _ in range(100):
        y = rng.getrandbits(rng.randrange(33))
        cases.append((rng.randint(0, y) if rng.random() < 0.9 else rng.getrandbits(32), y))
    dut = Ratio(unroll)

    async def bench(ctx: SimulatorContext) -> None:
        for x, y in cases:
            ctx.set(dut.i.payload, {"x": x, "y": y})
            ctx.set(dut.i.valid, 1)
            await ctx.tick().until(dut.i.ready)
            ctx.set(dut.i.valid, 0)
            ctx.set(dut.i.payload, {"x": 0, "y": 0})
            cycles = 0
            while not ctx.get(dut.o.valid):
                await ctx.tick()
                cycles += 1
            assert cycles <= 16 // unroll
            expected = min(65535, (x << 16) // y) if y else 65535 * (x > 0)
            assert ctx.get(dut.o.payload) == expected, f"{x} / {y}, unroll {unroll}"
            ctx.set(dut.o.ready, 1)
            await ctx.tick()
            ctx.set(dut.o.ready, 0)

    simulator = Simulator(dut)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run_until(0.1)


def test_words_are_where_the_record_has_them() -> None:
    """Those of a record in its order, then the run's, then an update's and a step's."""
    for word in Word:
        name = word.name.lower().removesuffix("_level")
        if word < Word.LOSS_FAST:
            assert RegionRecord[name].offset == word * WORD_BITS
        else:
            layouts = (RegionParameters,) if word < Word.A else (RegionUpdate, RegionStep)
            (width,) = (field.width for layout in layouts for key, field in layout if key == name)
            assert width <= WORD_BITS


def test_head_is_the_beginning_of_the_record() -> None:
    assert Head.size == HEAD_WORDS * WORD_BITS
    assert all(RegionRecord[name].offset == field.offset for name, field in Head)

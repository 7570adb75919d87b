"""Parts of the Region Manager: the divider, and what the layouts promise."""

import random
from typing import Any

import pytest
from amaranth.sim import Simulator, SimulatorContext

from adagrain.hdl.arithmetic.ratio import Ratio
from adagrain.hdl.region_manager import RegionManager
from adagrain.hdl.region_manager.layouts import HEAD_WORDS, WORD_BITS, Head, Word
from adagrain.models.interface.configuration import configuration
from adagrain.models.interface.units.region_manager import (
    RegionParameters,
    RegionRecord,
    RegionStep,
    RegionUpdate,
)
from adagrain.models.region_manager.settings import default_parameters, region_record


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


def test_a_decision_is_offered_behind_64_cycles_and_the_next_behind_65_more() -> None:
    """At most, as the documents have it: of an update that does all there is to do."""
    dut = RegionManager(configuration("small", regions=4))
    seen: list[tuple[int, int]] = []

    async def put(ctx: SimulatorContext, port: Any, payload: Any) -> None:
        ctx.set(port.payload, payload)
        ctx.set(port.valid, 1)
        await ctx.tick().until(port.ready)
        ctx.set(port.valid, 0)

    async def bench(ctx: SimulatorContext) -> None:
        await put(ctx, dut.i_parameters, default_parameters(2))
        raw = region_record(policy=1, cadence_policy=2, cadence_max=4)
        for number in range(len(raw) // 8):
            word = int.from_bytes(raw[8 * number :][:8], "little")
            await put(ctx, dut.i_access, {"write": 1, "number": number, "item": word})
        update = {"exponent": 120, "usable": 1, "decide": 1, "a": 2**40, "n": 2**39 - 7}
        ctx.set(dut.i.payload, update | {"stall": 9, "redo": 9})
        ctx.set(dut.o.ready, 1)
        ctx.set(dut.i.valid, 1)
        for cycle in range(140):
            *_, taken, offered = await ctx.tick().sample(dut.i.ready, dut.o.valid)
            seen.extend((cycle, port) for port, is_on in enumerate((taken, offered)) if is_on)
        assert ctx.get(dut.decision_cycles) == 63

    simulator = Simulator(dut)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run_until(1e-3)
    assert seen == [(63, 0), (64, 1), (128, 0), (129, 1)]


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

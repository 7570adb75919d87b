"""Statistics: what the tensor input refuses, and the cycles that the page states."""

import pytest
from amaranth.hdl import Signal
from amaranth.sim import Simulator, SimulatorContext

from adagrain.hdl.statistics import Statistics
from adagrain.hdl.statistics.counts import Counts
from adagrain.hdl.tensor_input import TensorInput, Unpacker
from adagrain.hdl.tensor_input.downsizer import Downsizer
from adagrain.models.interface.configuration import configuration
from adagrain.models.interface.formats import FormatCode


def test_refusals_of_the_tensor_input() -> None:
    with pytest.raises(ValueError, match="lanes must be 1, 2 or 4, not 8"):
        Unpacker(8, (FormatCode.FP32,))
    with pytest.raises(ValueError, match="lanes must divide 4, not 3"):
        Downsizer(4, 3)
    with pytest.raises(ValueError, match="starvation must be at least 1, not 0"):
        TensorInput(configuration("tiny"), 1, starvation=0)
    with pytest.raises(ValueError, match="users must be at least 1, not 0"):
        TensorInput(configuration("tiny"), 0)


@pytest.mark.parametrize("lanes", [1, 4])
def test_a_pass_takes_the_cycles_that_are_documented(lanes: int) -> None:
    unit = Statistics(lanes)

    async def passes(ctx: SimulatorContext) -> None:
        await ctx.tick()
        assert await cycles_until(ctx, unit.i_begin.ready) == 515
        for histogram, wanted in ((0, 11), (1, 526), (0, 11)):
            begin = {"exponent": 127, "histogram": histogram}
            ctx.set(unit.i_begin.payload, begin)
            ctx.set(unit.i_begin.valid, 1)
            await ctx.tick()
            ctx.set(unit.i_begin.valid, 0)
            ctx.set(unit.i.payload, {"data": [0x3F800000] * lanes, "keep": 1, "last": 1})
            ctx.set(unit.i.valid, 1)
            assert ctx.get(unit.i.ready)
            await ctx.tick()
            ctx.set(unit.i.valid, 0)
            assert await cycles_until(ctx, unit.o.valid) == wanted
            ctx.set(unit.o.ready, 1)
            assert ctx.get(unit.o.payload.count) == 1
            await ctx.tick()
            ctx.set(unit.o.ready, 0)

    simulator = Simulator(unit)
    simulator.add_clock(1e-6)
    simulator.add_testbench(passes)
    simulator.run()


async def cycles_until(ctx: SimulatorContext, signal: Signal) -> int:
    """Number of the first cycle in which it is high; the one now is number 1."""
    for number in range(1, 1000):
        if ctx.get(signal):
            return number
        await ctx.tick()
    raise AssertionError(f"{signal} is not high within 1000 cycles")


@pytest.mark.parametrize("bits", [1, 2, 3])
@pytest.mark.parametrize(
    ("lanes", "present"), [(1, 1), (2, 1), (2, 2), (4, 1), (4, 2), (4, 3), (4, 4)]
)
def test_narrow_counters_tell_of_what_they_cannot_hold(lanes: int, present: int, bits: int) -> None:
    """Also where a beat has more elements than a counter holds."""
    counts, largest = Counts(lanes, bits), (1 << bits) - 1

    async def beats(ctx: SimulatorContext) -> None:
        for lane in range(present):
            ctx.set(counts.i[lane].present, 1)
        for arrived in range(0, 4 * (largest + lanes), present):
            if arrived:
                found = ctx.get(counts.o.count), ctx.get(counts.o.overflow)
                wanted = max(0, arrived - present)  # the last beat is still on its way
                assert found == (min(wanted, largest), wanted > largest)
            await ctx.tick()

    simulator = Simulator(counts)
    simulator.add_clock(1e-6)
    simulator.add_testbench(beats)
    simulator.run()

"""Additions of boards to the device: a PLL's numbers, and leds."""

import pytest
from amaranth.build import Clock as ClockConstraint
from amaranth.hdl import ClockDomain, Instance
from amaranth.lib import io
from amaranth.sim import Simulator, SimulatorContext

from adagrain.hdl.boards import BOARDS
from adagrain.hdl.boards.ecp5_clock import Ecp5Clock, _divider
from adagrain.hdl.device import SerialCoprocessor
from adagrain.hdl.granularity_unit import GranularityUnit
from adagrain.models.interface.configuration import configuration

#: Cycles per second of a board so slow that its leds can be watched.
SLOW, BAUD = 80.0, 8.0


class Oscillator:
    """A board's clock of 25 MHz."""

    clock = ClockConstraint(25e6)

    def lookup(self, name: str) -> "Oscillator":
        return self

    def request(self, name: str, dir: str) -> io.SimulationPort:
        return io.SimulationPort("i", 1)


def pll(multiple: int) -> dict[str, int]:
    """Parameters of the PLL that multiplies a clock of 25 MHz."""
    clock = Ecp5Clock(ClockDomain("sync"), "clk25", multiple)
    found: Instance = clock.elaborate(Oscillator())._named_submodules["pll"][0]
    return {name: value for name, value in found.parameters.items() if isinstance(value, int)}


@pytest.mark.parametrize(("multiple", "divider"), [(1, 24), (2, 12), (3, 8), (4, 6)])
def test_the_oscillator_runs_at_600_mhz(multiple: int, divider: int) -> None:
    found = pll(multiple)
    assert found["CLKOP_DIV"] == divider
    assert found["CLKFB_DIV"] == multiple


def test_a_clock_out_of_reach() -> None:
    with pytest.raises(ValueError, match="within the reach of the PLL, not 1000000000 Hz"):
        pll(40)
    assert pll(16)["CLKOP_DIV"] == 2
    for multiple in (17, 24, 32):  # the oscillator can, but not what it goes out by
        with pytest.raises(ValueError, match=f"reach of the PLL, not {25 * multiple}000000 Hz"):
            pll(multiple)
    with pytest.raises(ValueError, match="within the reach of the PLL, not 3000000 Hz"):
        _divider(3e6)  # by 200, but the largest there is is 128


def test_leds_stay_on_for_a_while_after_something_moved() -> None:
    device = SerialCoprocessor(configuration("tiny"), clock=SLOW, baud=BAUD)
    seen = list[int]()

    async def watch(ctx: SimulatorContext) -> None:
        await ctx.tick().repeat(4)
        assert not ctx.get(device.leds.link)
        ctx.set(device.rx, 0)
        await ctx.tick().repeat(4)
        ctx.set(device.rx, 1)
        for _ in range(60):
            await ctx.tick()
            seen.append(ctx.get(device.leds.link))

    simulator = Simulator(device)
    simulator.add_clock(1 / SLOW)
    simulator.add_testbench(watch)
    simulator.run()
    first, last = seen.index(1), len(seen) - seen[::-1].index(1)
    assert 10 <= last - first <= 35
    assert all(seen[first:last]), "without a gap"
    assert not any(seen[last:])


@pytest.mark.parametrize("name", BOARDS)
def test_each_light_of_a_board_is_another_one(name: str) -> None:
    leds = BOARDS[name].leds
    assert len(set(leds)) == len(leds) == 3


def test_the_smallest_memories() -> None:
    assert GranularityUnit(1, 2).signature.members["i_words"]

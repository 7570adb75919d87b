"""Bit rates of the serial line."""

import pytest
from amaranth.sim import Simulator, SimulatorContext

from adagrain.hdl.uart import Receiver, Transmitter, step_per_cycle


@pytest.mark.parametrize(
    ("clock", "baud"), [(50e6, 3e6), (25e6, 3e6), (12e6, 3e6), (12e6, 115200), (27e6, 1e6)]
)
def test_common_rates_are_nearly_exact(clock: float, baud: float) -> None:
    assert step_per_cycle(clock, baud) * clock / 65536 == pytest.approx(baud, rel=0.005)


@pytest.mark.parametrize("unit", [Receiver, Transmitter])
def test_rates_that_no_step_comes_near_are_refused(unit: type) -> None:
    with pytest.raises(ValueError, match=r"within 2 % .* not 2000: the nearest is 2289"):
        unit(50e6, 2000)


def test_bytes_after_a_pause_are_sent_alike() -> None:
    """Each begins a whole bit, wherever the one before left the fraction of a cycle."""
    unit = Transmitter(25e6, 3e6)
    sent: list[list[int]] = []

    async def sender(ctx: SimulatorContext) -> None:
        ctx.set(unit.i.payload, 0x55)
        for _ in range(4):
            ctx.set(unit.i.valid, 1)
            await ctx.tick()
            ctx.set(unit.i.valid, 0)
            line = []
            while not ctx.get(unit.i.ready):
                line.append(ctx.get(unit.tx))
                await ctx.tick()
            sent.append(line)
            await ctx.tick().repeat(5)

    simulator = Simulator(unit)
    simulator.add_clock(1e-6)
    simulator.add_testbench(sender)
    simulator.run()
    assert sent[0].count(0) > 5 * 8
    assert sent[1:] == sent[:1] * 3

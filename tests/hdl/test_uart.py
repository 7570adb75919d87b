"""Bit rates of the serial line."""

import math
import random

import pytest
from amaranth.sim import Simulator, SimulatorContext

from adagrain.hdl.uart import Receiver, Transmitter, step_per_cycle


@pytest.mark.parametrize(
    ("clock", "baud"), [(50e6, 3e6), (25e6, 3e6), (12e6, 3e6), (12e6, 115200), (27e6, 1e6)]
)
def test_common_rates_are_nearly_exact(clock: float, baud: float) -> None:
    assert step_per_cycle(clock, baud) * clock / 65536 == pytest.approx(baud, rel=0.005)


@pytest.mark.parametrize("clock", [50e6, 27e6, 12e6])
def test_usual_rates_are_as_exact_as_promised(clock: float) -> None:
    for baud in (19200, 38400, 57600, 115200, 230400, 460800, 921600, 1e6, 2e6, 3e6):
        within = 0.0015 if baud >= 115200 else 0.009
        assert step_per_cycle(clock, baud) * clock / 65536 == pytest.approx(baud, rel=within)


@pytest.mark.parametrize(
    ("clock", "baud", "message"),
    [
        (50e6, 9600, "within 2 % of what 50000000 Hz gives, not 9600: the nearest is 9918"),
        (50e6, 747, "within 2 % of what 50000000 Hz gives, not 747: the nearest is 763"),
        (12e6, 4e6, r"baud must be at most 3000000 at 12000000 Hz, not 4e\+06"),
    ],
)
def test_rates_beyond_the_accumulator(clock: float, baud: float, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        step_per_cycle(clock, baud)


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


def received(cycles: float, shorter: float, sent: bytes) -> bytes:
    """What a receiver of so many cycles per bit makes of bytes whose bits are shorter by a part.

    They follow each other at once or after a pause, and begin anywhere in a cycle.
    """
    unit, draw, found = Receiver(cycles * 1e6, 1e6), random.Random(0), bytearray()
    bit = 65536 / step_per_cycle(cycles * 1e6, 1e6) * (1 - shorter)
    levels, end = [], 20.0
    for byte in sent:
        end += draw.choice([0, 2 * bit * draw.random()])
        levels += [1] * (math.ceil(end) - len(levels))
        for level in (0, *(byte >> number & 1 for number in range(8)), 1):
            end += bit
            levels += [level] * (math.ceil(end) - len(levels))

    async def line(ctx: SimulatorContext) -> None:
        ctx.set(unit.o.ready, 1)
        for level in [*levels, *[1] * 20]:
            ctx.set(unit.rx, level)
            *_, valid, byte = await ctx.tick().sample(unit.o.valid, unit.o.payload)
            found.extend([byte] * valid)

    simulator = Simulator(unit)
    simulator.add_clock(1e-6)
    simulator.add_testbench(line)
    simulator.run()
    return bytes(found)


BYTES = bytes([0x00, 0xFF, 0x55, 0xAA, *random.Random(1).randbytes(56)])


@pytest.mark.parametrize("cycles", [4, 4.13, 4.5, 5, 6, 8, 8.68, 12, 16.67, 25])
def test_a_receiver_bears_what_it_promises(cycles: float) -> None:
    assert received(cycles, 0.05 - 0.2 / cycles, BYTES) == BYTES
    assert received(cycles, -0.055, BYTES) == BYTES


def test_few_cycles_per_bit_bear_less() -> None:
    assert received(4.5, 0.02, BYTES) != BYTES
    assert received(4, 0.03, BYTES) != BYTES

"""Handlers of requests: what they refuse to be built with, and replies that have to wait.

Their behaviour is benched in sim, where the link hardly ever lets a reply wait.
"""

import struct
from collections.abc import Callable
from dataclasses import replace

import pytest
from amaranth.sim import Simulator, SimulatorContext
from asked import asked

from adagrain.hdl.device.coprocessor import Coprocessor
from adagrain.hdl.device.dispatcher import Dispatcher
from adagrain.hdl.device.system import SystemCommands
from adagrain.hdl.granularity_unit import GranularityUnit
from adagrain.hdl.handler.access_commands import AccessCommands
from adagrain.hdl.handler.step_commands import StepCommands
from adagrain.models.interface.configuration import configuration
from adagrain.models.interface.protocol import Status
from adagrain.models.interface.units import LINK, SYSTEM, Unit, addresses
from adagrain.models.interface.units.precision_controller import PRECISION_CONTROLLER
from adagrain.models.interface.units.system import SystemOpcode


def unit_of(entries: int) -> Unit:
    """With a table of so many entries."""
    table = PRECISION_CONTROLLER.table
    assert table is not None
    return replace(PRECISION_CONTROLLER, table=replace(table, entries=lambda _: entries))


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (
            lambda: AccessCommands(configuration("tiny"), unit_of(65537)),
            "table of precision_controller must have from 1 to 65536 items, not 65537",
        ),
        (
            lambda: AccessCommands(configuration("tiny"), unit_of(0)),
            "table of precision_controller must have from 1 to 65536 items, not 0",
        ),
        (
            lambda: AccessCommands(configuration("tiny"), SYSTEM),
            "unit 'system' must keep a table, but it has none",
        ),
        (
            lambda: StepCommands(configuration("tiny"), SYSTEM),
            "unit 'system' must keep a table, but it has none",
        ),
        (lambda: Dispatcher((), watchdog=1), "units must be at least one, not none"),
        (lambda: Dispatcher((LINK,), watchdog=1), "unit 'link' must have an operation, not none"),
        (lambda: Dispatcher((SYSTEM,), watchdog=0), "watchdog must be at least 1, not 0"),
        (
            lambda: Dispatcher((SYSTEM, SYSTEM), watchdog=1),
            "group of unit 'system' must be its own, not 0",
        ),
        (lambda: GranularityUnit(1, 12), "words must be a power of two from 2 to 65536, not 12"),
        (lambda: GranularityUnit(1, 1), "words must be a power of two from 2 to 65536, not 1"),
        (
            lambda: Coprocessor(configuration("tiny"), starvation=0),
            "starvation must be from 1 to 260096, not 0",
        ),
        (
            lambda: Coprocessor(configuration("tiny", watchdog=4096)),
            "starvation must be from 1 to 2048, not 65536",
        ),
    ],
)
def test_refusals(build: Callable[[], object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        build()


def test_replies_that_wait_are_whole() -> None:
    dispatcher, found = Dispatcher((SYSTEM,), watchdog=100), list[int]()
    handler, o = dispatcher.handler[0], dispatcher.o
    reply = [7, 1, 2, 3]

    async def handle(ctx: SimulatorContext) -> None:
        ctx.set(handler.i_call.ready, 1)
        await ctx.tick().until(handler.i_call.valid)
        for number, byte in enumerate(reply):
            ctx.set(handler.o.payload, {"data": byte, "last": number == len(reply) - 1})
            ctx.set(handler.o.valid, 1)
            await ctx.tick().until(handler.o.ready)
        ctx.set(handler.o.valid, 0)

    async def ask(ctx: SimulatorContext) -> None:
        ctx.set(dispatcher.i.payload, {"data": SystemOpcode.HELLO, "last": 1})
        ctx.set(dispatcher.i.valid, 1)
        await ctx.tick().until(dispatcher.i.ready)
        ctx.set(dispatcher.i.valid, 0)
        for wait in (3, 1, 2, 3):
            await ctx.tick().repeat(wait)
            ctx.set(o.ready, 1)
            (payload,) = await ctx.tick().sample(o.payload).until(o.valid)
            found.append(payload.data)
            assert payload.last == (len(found) == len(reply))
            ctx.set(o.ready, 0)

    simulator = Simulator(dispatcher)
    simulator.add_clock(1e-6)
    simulator.add_testbench(ask)
    simulator.add_testbench(handle, background=True)
    simulator.run()
    assert found == reply


@pytest.mark.parametrize("name", ["cycles", "elements"])
@pytest.mark.parametrize("pause", [1, 4])
def test_halves_of_long_counters_belong_together(name: str, pause: int) -> None:
    """However the carry falls between their bytes; the upper half alone is read as it is."""
    system = SystemCommands(configuration("tiny"))
    low = addresses()[name]
    follows = {"cycles": 0xC0FFEE, "elements": 0}[name]  # a register, or none
    now, carries = [0], list[bool]()

    async def count(ctx: SimulatorContext) -> None:
        ctx.set(system.registers.unit_resets, 0xC0FFEE)
        while True:
            ctx.set(system.registers[name], now[0])
            await ctx.tick()
            now[0] += 1

    async def read(ctx: SimulatorContext, first: int, words: int) -> list[int]:
        request = bytes([first, words])
        reply = await asked(ctx, system.handler, SystemOpcode.REGISTERS, request, pause)
        assert reply[0] == Status.OK
        return list(struct.unpack(f"<{words}I", reply[1:]))

    async def ask(ctx: SimulatorContext) -> None:
        for left in range(0, 16 * (pause + 1), pause):
            await read(ctx, low, 1)
            before = now[0] = (7 << 32) - left
            lower, upper, other = await read(ctx, low, 3)
            assert before <= upper << 32 | lower <= now[0]
            assert other == follows
            carries.append(upper == 6 and now[0] >> 32 == 7)
            await read(ctx, low, 1)
            assert await read(ctx, low + 1, 1) == [now[0] >> 32]

    simulator = Simulator(system)
    simulator.add_clock(1e-6)
    simulator.add_testbench(count, background=True)
    simulator.add_testbench(ask)
    simulator.run()
    assert any(carries)
    assert not all(carries)

"""Handlers that hang are given up, and no others: the dispatcher and its watchdog."""

import enum
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
from amaranth.sim import Simulator, SimulatorContext

from adagrain.hdl.device.dispatcher import Dispatcher
from adagrain.hdl.device.watchdog import Watchdog
from adagrain.models.interface.protocol import Status
from adagrain.models.interface.units import SYSTEM, Operation, Payload, Unit
from adagrain.models.interface.units.system import SystemOpcode


class Opcode(enum.IntEnum):
    """Opcodes of the other unit."""

    ANY = 0xB2


#: A unit that takes any payload.
OTHER = Unit(
    "other",
    0xB,
    "any payload",
    (Operation(Opcode.ANY, Payload(items=8), Payload(items=8), "takes it"),),
    gateware="nowhere:Handler",
    twin="nowhere:Twin",
)

#: Cycles without progress after which a handler is given up, here.
PATIENCE = 20

Testbench = Callable[[SimulatorContext], Coroutine[Any, Any, None]]


def simulate(component: Any, test: Testbench, *others: Testbench) -> None:
    simulator = Simulator(component)
    simulator.add_clock(1e-6)
    for testbench in (test, *others):
        simulator.add_testbench(testbench)
    simulator.run()


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Dispatcher((SYSTEM, OTHER), watchdog=0), "watchdog must be at least 1, not 0"),
        (lambda: Watchdog(-1), "cycles must be at least 1, not -1"),
    ],
)
def test_refusals(build: Callable[[], object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        build()


async def request(ctx: SimulatorContext, dispatcher: Dispatcher, raw: list[int]) -> None:
    """Hand a request over, opcode first, without waiting for more than its bytes to be taken."""
    for number, byte in enumerate(raw):
        ctx.set(dispatcher.i.payload, {"data": byte, "last": number == len(raw) - 1})
        ctx.set(dispatcher.i.valid, 1)
        await ctx.tick().until(dispatcher.i.ready)
    ctx.set(dispatcher.i.valid, 0)


async def send(
    ctx: SimulatorContext, handler: Any, reply: list[int], *, whole: bool = True
) -> None:
    """Answer as a handler, or begin to."""
    for number, byte in enumerate(reply):
        ctx.set(handler.o.payload, {"data": byte, "last": whole and number == len(reply) - 1})
        ctx.set(handler.o.valid, 1)
        await ctx.tick().until(handler.o.ready)
    ctx.set(handler.o.valid, 0)


async def answer(ctx: SimulatorContext, dispatcher: Dispatcher) -> list[tuple[int, int]]:
    """Bytes of the next reply, and whether they replace it."""
    ctx.set(dispatcher.o.ready, 1)
    raw, last = list[tuple[int, int]](), 0
    while not last:
        (payload,) = await ctx.tick().sample(dispatcher.o.payload).until(dispatcher.o.valid)
        raw.append((payload.data, payload.replaces))
        last = payload.last
    ctx.set(dispatcher.o.ready, 0)
    return raw


async def take(ctx: SimulatorContext, handler: Any, count: int) -> None:
    """Take a call, and some bytes of its payload."""
    ctx.set(handler.i_call.ready, 1)
    await ctx.tick().until(handler.i_call.valid)
    ctx.set(handler.i_call.ready, 0)
    ctx.set(handler.i.ready, 1)
    for _ in range(count):
        await ctx.tick().until(handler.i.valid)
    ctx.set(handler.i.ready, 0)


async def never(ctx: SimulatorContext, handler: Any) -> None:
    """Not even take the call."""


async def taken(ctx: SimulatorContext, handler: Any) -> None:
    """Take a part of the payload."""
    await take(ctx, handler, 2)


async def greedy(ctx: SimulatorContext, handler: Any) -> None:
    """Wait for more payload than there is."""
    await take(ctx, handler, 3)
    ctx.set(handler.i.ready, 1)


async def begun(ctx: SimulatorContext, handler: Any) -> None:
    """Answer in part."""
    await take(ctx, handler, 1)
    await send(ctx, handler, [Status.OK, 5, 6], whole=False)


REPLACED = (Status.UNIT_RESET, 1)


@pytest.mark.parametrize(
    ("hang", "said"),
    [
        (never, []),
        (taken, []),
        (greedy, []),
        (begun, [(Status.OK, 0), (5, 0), (6, 0)]),
    ],
)
def test_a_handler_that_hangs_is_given_up(
    hang: Callable[[SimulatorContext, Any], Coroutine[Any, Any, None]], said: list[tuple[int, int]]
) -> None:
    """It is reset, the rest of the payload is dropped, and it is called again."""
    dispatcher = Dispatcher((SYSTEM, OTHER), watchdog=PATIENCE)
    handler = dispatcher.handler[1]

    async def handle(ctx: SimulatorContext) -> None:
        await hang(ctx, handler)
        (reset,) = await ctx.tick().sample(dispatcher.reset).until(dispatcher.reset.any())
        assert reset == 0b10
        for port in (handler.i_call.ready, handler.i.ready, handler.o.valid):
            ctx.set(port, 0)
        await take(ctx, handler, 1)
        await send(ctx, handler, [Status.OK, 9])

    async def feed(ctx: SimulatorContext) -> None:
        for _ in range(2):
            await request(ctx, dispatcher, [Opcode.ANY, 1, 2, 3])

    async def ask(ctx: SimulatorContext) -> None:
        assert await answer(ctx, dispatcher) == [*said, REPLACED]
        assert await answer(ctx, dispatcher) == [(Status.OK, 0), (9, 0)]
        assert ctx.get(dispatcher.resets) == 1

    simulate(dispatcher, ask, feed, handle)


def test_a_handler_that_waits_for_the_link_is_not_given_up() -> None:
    """For bytes of the payload, and for somebody who takes those of the reply."""
    dispatcher = Dispatcher((SYSTEM,), watchdog=PATIENCE)
    handler = dispatcher.handler[0]

    async def handle(ctx: SimulatorContext) -> None:
        await take(ctx, handler, 2)
        await send(ctx, handler, [Status.OK, 1, 2])

    async def feed(ctx: SimulatorContext) -> None:
        ctx.set(dispatcher.i.payload, {"data": SystemOpcode.ECHO, "last": 0})
        ctx.set(dispatcher.i.valid, 1)
        await ctx.tick().until(dispatcher.i.ready)
        for last in (0, 1):
            ctx.set(dispatcher.i.valid, 0)
            await ctx.tick().repeat(3 * PATIENCE)
            ctx.set(dispatcher.i.payload, {"data": 1, "last": last})
            ctx.set(dispatcher.i.valid, 1)
            await ctx.tick().until(dispatcher.i.ready)
        ctx.set(dispatcher.i.valid, 0)

    async def ask(ctx: SimulatorContext) -> None:
        await ctx.tick().repeat(20 * PATIENCE)
        assert await answer(ctx, dispatcher) == [(Status.OK, 0), (1, 0), (2, 0)]
        assert ctx.get(dispatcher.resets) == 0

    simulate(dispatcher, ask, feed, handle)


@pytest.mark.parametrize("sends", [False, True])
@pytest.mark.parametrize(("pause", "resets"), [(PATIENCE, 0), (PATIENCE + 1, 1)])
def test_progress_that_no_stream_shows(pause: int, resets: int, sends: bool) -> None:
    """Its own, or beats that leave; just so often that it is enough, and just too seldom."""
    dispatcher = Dispatcher((SYSTEM,), watchdog=PATIENCE)
    handler = dispatcher.handler[0]
    progress = dispatcher.sends if sends else handler.progress

    async def handle(ctx: SimulatorContext) -> None:
        await take(ctx, handler, 0)
        for _ in range(5):
            await ctx.tick().repeat(pause)
            ctx.set(progress, 1)
            await ctx.tick()
            ctx.set(progress, 0)
        if not resets:
            await send(ctx, handler, [Status.OK])

    async def ask(ctx: SimulatorContext) -> None:
        await request(ctx, dispatcher, [SystemOpcode.ECHO])
        assert await answer(ctx, dispatcher) == [REPLACED if resets else (Status.OK, 0)]
        assert ctx.get(dispatcher.resets) == resets

    simulate(dispatcher, ask, handle)

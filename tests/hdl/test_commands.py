# amaranth: UnusedElaboratable=no
"""What handlers of requests refuse to be built with, and replies that have to wait.

Their behaviour is benched in sim, where the link hardly ever lets a reply wait.
"""

import pytest
from amaranth.hdl import Module, Signal
from amaranth.sim import Simulator, SimulatorContext

from adagrain.hdl.commands.call import HandlerSignature
from adagrain.hdl.commands.dispatcher import Dispatcher
from adagrain.hdl.commands.exchange import Exchange
from adagrain.hdl.commands.serial import Deserializer
from adagrain.hdl.commands.table import Table


def test_entries_that_no_shift_counts() -> None:
    m, octets = Module(), Deserializer(12)
    exchange = Exchange(m, HandlerSignature().create(), octets)
    table = Table(m, exchange, octets, entries=4, size=12, payload=256)
    with pytest.raises(ValueError, match="size must be a power of two, not 12"):
        table.count(Signal(16), 12)


def test_replies_that_wait_are_whole() -> None:
    dispatcher, found = Dispatcher(1), list[int]()
    handler, o = dispatcher.handler[0], dispatcher.o
    reply = [7, 1, 2, 3]

    async def handle(ctx: SimulatorContext) -> None:
        ctx.set(handler.i_call.ready, 1)
        await ctx.tick().until(handler.i_call.valid)
        for number, octet in enumerate(reply):
            ctx.set(handler.o.payload, {"data": octet, "last": number == len(reply) - 1})
            ctx.set(handler.o.valid, 1)
            await ctx.tick().until(handler.o.ready)
        ctx.set(handler.o.valid, 0)

    async def ask(ctx: SimulatorContext) -> None:
        ctx.set(dispatcher.i.payload, {"data": 0, "last": 1})
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

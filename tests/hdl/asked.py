"""A request to a handler, in Amaranth's simulator."""

from typing import Any

from amaranth.sim import SimulatorContext

__all__ = ["asked"]


async def asked(
    ctx: SimulatorContext, handler: Any, opcode: int, payload: bytes = b"", pause: int = 0
) -> bytes:
    """A handler's reply, whose bytes are taken after so many cycles each."""
    ctx.set(handler.i_call.payload, {"opcode": opcode, "length": len(payload)})
    ctx.set(handler.i_call.valid, 1)
    await ctx.tick().until(handler.i_call.ready)
    ctx.set(handler.i_call.valid, 0)
    for byte in payload:
        ctx.set(handler.i.payload, byte)
        ctx.set(handler.i.valid, 1)
        await ctx.tick().until(handler.i.ready)
    ctx.set(handler.i.valid, 0)
    reply = b""
    while True:
        for _ in range(pause):
            await ctx.tick()
        ctx.set(handler.o.ready, 1)
        (byte,) = await ctx.tick().sample(handler.o.payload).until(handler.o.valid)
        ctx.set(handler.o.ready, 0)
        reply += bytes([byte.data])
        if byte.last:
            return reply

"""What a reset leaves of an encoder's tables."""

import numpy as np
import torch
from amaranth.hdl import ResetInserter, Signal
from amaranth.sim import Simulator, SimulatorContext

from adagrain.hdl.codec.encoder import Encoder
from adagrain.models.codec import build_table, coded_blocks
from adagrain.models.interface.codec import ESCAPE, SYMBOLS


def test_tables_outlive_a_reset() -> None:
    """All of them: the escape's length too, with which elements without a symbol are coded."""
    counts = np.zeros(SYMBOLS, dtype=np.int64)
    counts[[0, 32, ESCAPE]] = 2, 1, 1
    table = build_table(counts)
    elements = torch.tensor([1.5, float("inf"), 1.5, *[0.0] * 20], dtype=torch.bfloat16)
    (wanted,) = coded_blocks(elements, 127, table, 7)
    reset, dut, found = Signal(), Encoder(1), list[bytes]()

    async def give(ctx: SimulatorContext) -> None:
        ctx.set(dut.o.ready, 1)
        ctx.set(dut.i_code.valid, 1)
        for symbol in range(SYMBOLS):
            code = {"length": table.lengths[symbol], "code": int(table.codes[symbol])}
            ctx.set(dut.i_code.p, {"slot": 1, "symbol": symbol, "code": code})
            await ctx.tick().until(dut.i_code.ready)
        ctx.set(dut.i_code.valid, 0)
        for _ in range(2):
            ctx.set(reset, 1)
            await ctx.tick()
            ctx.set(reset, 0)
            region = {"exponent": 127, "mantissa_bits": 7, "bf16": 1, "slot": 1}
            ctx.set(dut.i_region.p, region)
            ctx.set(dut.i_region.valid, 1)
            await ctx.tick().until(dut.i_region.ready)
            ctx.set(dut.i_region.valid, 0)
            words = elements.view(torch.int16).tolist()
            for number, word in enumerate(words):
                last = number == len(words) - 1
                ctx.set(dut.i.p, {"data": [word & 0xFFFF], "keep": 1, "last": last})
                ctx.set(dut.i.valid, 1)
                await ctx.tick().until(dut.i.ready)
            ctx.set(dut.i.valid, 0)
            coded, is_last = b"", False
            while not is_last:
                if ctx.get(dut.o.valid):
                    word = ctx.get(dut.o.p)
                    is_last, length = bool(word.last), word.length
                    coded += bytes(word.data)
                await ctx.tick()
            found.append(coded[:length])

    simulator = Simulator(ResetInserter(reset)(dut))
    simulator.add_clock(1e-6)
    simulator.add_testbench(give)
    simulator.run()
    assert found == [wanted] * 2

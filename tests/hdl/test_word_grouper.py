"""Words of beats in pairs, for the decoder."""

import pytest
from amaranth.sim import Simulator, SimulatorContext

from adagrain.hdl.codec.word_grouper import WordGrouper


def dealt(words: list[int], count: int) -> list[list[int]]:
    """So many words together."""
    return [words[at : at + count] for at in range(0, len(words), count)]


@pytest.mark.parametrize("is_empty", [False, True], ids=["full", "empty_last_beat"])
@pytest.mark.parametrize("lanes", [1, 2, 4])
def test_no_word_is_lost(lanes: int, is_empty: bool) -> None:
    """Nor one that stands alone, behind which comes a last beat that keeps no lane."""
    packets = [[*range(1, count + 1)] for count in (1, 2, 3, 4, 5, 8, 9)]
    packets = [words for words in packets if not is_empty or len(words) % lanes == 0]
    dut, pairs = WordGrouper(lanes), list[list[int]]()
    wanted = [[*pair, 0][:2] for words in packets for pair in dealt(words, 2)]

    async def give(ctx: SimulatorContext) -> None:
        for words in packets:
            beats = dealt(words, lanes) + [[]] * is_empty
            for number, beat in enumerate(beats):
                ctx.set(dut.i.p.data, beat + [0xDEAD] * (lanes - len(beat)))
                ctx.set(dut.i.p.keep, (1 << len(beat)) - 1)
                ctx.set(dut.i.p.last, number == len(beats) - 1)
                ctx.set(dut.i.valid, 1)
                await ctx.tick().until(dut.i.ready)
                ctx.set(dut.i.valid, 0)
                await ctx.tick().repeat(1 + number % 3)

    async def take(ctx: SimulatorContext) -> None:
        for number in range(len(wanted)):
            await ctx.tick().repeat(1 + number % 3)
            ctx.set(dut.o.ready, 1)
            pair, *_ = await ctx.tick().sample(dut.o.payload).until(dut.o.valid)
            whole = int.from_bytes(bytes(pair), "little")
            pairs.append([whole & 0xFFFFFFFF, whole >> 32])
            ctx.set(dut.o.ready, 0)

    simulator = Simulator(dut)
    simulator.add_clock(1e-6)
    simulator.add_testbench(give)
    simulator.add_testbench(take)
    simulator.run_until(500e-6)
    assert pairs == wanted

"""Beats of a block's elements, put behind each other in words."""

import pytest
from amaranth.sim import Simulator, SimulatorContext

from adagrain.hdl.codec.block_buffer import Word
from adagrain.hdl.codec.element_words import ElementWords
from adagrain.hdl.codec.layouts import ELEMENT_BITS


def dealt(elements: list[int], count: int) -> list[list[int]]:
    """So many elements together, with zeros behind the last one."""
    padded = elements + [0] * (-len(elements) % count)
    return [padded[at : at + count] for at in range(0, len(padded), count)]


@pytest.mark.parametrize("lanes", [1, 2, 4])
def test_zeros_fill_the_last_word_of_a_region(lanes: int) -> None:
    """Not what the word before has held there."""
    regions = [[*range(1, 6)], [7], [*range(10, 18)], [*range(20, 27)]]
    dut, words = ElementWords(lanes), list[int]()

    async def give(ctx: SimulatorContext) -> None:
        ctx.set(dut.i.valid, 1)
        for region in regions:
            beats = dealt(region, lanes)
            for number, beat in enumerate(beats):
                ctx.set(dut.i.p.data, beat)
                ctx.set(dut.i.p.last, number == len(beats) - 1)
                await ctx.tick().until(dut.i.ready)
        ctx.set(dut.i.valid, 0)

    async def take(ctx: SimulatorContext) -> None:
        for number in range(sum(len(dealt(region, 4)) for region in regions)):
            await ctx.tick().repeat(1 + number % 3)
            ctx.set(dut.o.ready, 1)
            word, *_ = await ctx.tick().sample(dut.o.payload).until(dut.o.valid)
            words.append(word)
            ctx.set(dut.o.ready, 0)

    simulator = Simulator(dut)
    simulator.add_clock(1e-6)
    simulator.add_testbench(give)
    simulator.add_testbench(take)
    simulator.run()
    assert Word.width == 4 * ELEMENT_BITS
    assert words == [
        sum(element << ELEMENT_BITS * place for place, element in enumerate(word))
        for region in regions
        for word in dealt(region, 4)
    ]

"""The tensor input: a data port that begins to offer something when it has almost been given up."""

import pytest
from amaranth.sim import Simulator, SimulatorContext

from adagrain.hdl.tensor_input import TensorInput
from adagrain.models.interface.configuration import configuration
from adagrain.models.interface.formats import FormatCode

#: Cycles after which a port that offers nothing is given up.
PATIENCE = 40


@pytest.mark.parametrize("lanes", [1, 2, 4])
def test_a_pass_does_not_starve_in_the_cycle_in_which_the_port_offers_a_beat(lanes: int) -> None:
    built = configuration("small", lanes=lanes)
    tensors = TensorInput(built, 1, starvation=PATIENCE)
    user = tensors.user[0]

    async def begins_late(ctx: SimulatorContext) -> None:
        ctx.set(user.begin.payload, {"format": FormatCode.FP32, "count": 4})
        ctx.set(user.begin.valid, 1)
        await ctx.tick().until(user.begin.ready)
        ctx.set(user.begin.valid, 0)
        for _ in range(PATIENCE + 3):
            if ctx.get(user.starved):
                break
            await ctx.tick()
        assert ctx.get(user.starved)
        ctx.set(tensors.i_data.valid, 1)
        assert not ctx.get(user.starved)
        await ctx.tick()
        ctx.set(tensors.i_data.valid, 0)
        for _ in range(4):
            assert not ctx.get(user.starved)
            await ctx.tick()

    simulator = Simulator(tensors)
    simulator.add_clock(1e-6)
    simulator.add_testbench(begins_late)
    simulator.run()

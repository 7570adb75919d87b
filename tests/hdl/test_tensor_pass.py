"""Passes over tensors: beats that stand, and records that come early."""

import enum

import pytest
from amaranth.hdl import Module, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped
from amaranth.sim import Simulator, SimulatorContext
from asked import asked

from adagrain.hdl.handler.call import HandlerSignature
from adagrain.hdl.tensor_input import Beat, TensorInput
from adagrain.hdl.tensor_input.tensor_pass import TensorPass
from adagrain.models.interface.configuration import configuration
from adagrain.models.interface.formats import FormatCode
from adagrain.models.interface.protocol import Status
from adagrain.models.interface.records import pack
from adagrain.models.interface.units import ENCODER, Operation, Payload, Unit
from adagrain.models.interface.units.encoder import EncoderBegin
from adagrain.models.interface.units.tensor_input import TENSOR_FIELDS


class Opcode(enum.IntEnum):
    """Opcodes of :data:`FIRST`."""

    BEGIN = 0xB0
    END = 0xB1


Begin = data.StructLayout({**TENSOR_FIELDS, "from_link": unsigned(1), "reserved": unsigned(7)})

#: A unit that tells the lowest byte of a tensor's first element.
FIRST = Unit(
    "first",
    0xB,
    "the first element",
    (
        Operation(Opcode.BEGIN, Payload(Begin), Payload(), "begins"),
        Operation(
            Opcode.END, Payload(), Payload(data.StructLayout({"first": unsigned(8)})), "ends"
        ),
    ),
    tensors=("x",),
    passes=(Opcode.BEGIN, Opcode.END),
    core="nowhere:First",
    twin="nowhere:Twin",
)


class Early(wiring.Component):
    """A device's tensor input with a core that offers its record at all times, late with beats."""

    handler: Out(HandlerSignature())
    i_data: In(stream.Signature(Beat))
    late: In(1)

    def __init__(self, lanes: int) -> None:
        self._configuration = configuration("tiny", lanes=lanes)
        super().__init__()

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.tensors = tensors = TensorInput(self._configuration, 1, starvation=50)
        m.submodules.tensor_pass = tensor_pass = TensorPass(self._configuration, FIRST)
        connect(m, flipped(self.handler), tensor_pass.handler)
        connect(m, flipped(self.i_data), tensors.i_data)
        connect(m, tensor_pass.tensor, tensors.user[0])
        beat, record = tensor_pass.o, tensor_pass.i
        m.d.comb += [
            tensor_pass.o_begin.ready.eq(1),
            beat.ready.eq(~self.late),
            record.valid.eq(1),
        ]
        with m.If(beat.valid & beat.ready):
            m.d.sync += record.payload.first.eq(beat.payload.data[0])
        return m


@pytest.mark.parametrize("late", [0, 1, 20])
@pytest.mark.parametrize("lanes", [1, 2, 4])
def test_an_early_record_waits_for_the_last_beat(lanes: int, late: int) -> None:
    """And for the padding behind it: the next tensor begins with its own first element."""
    dut, replies = Early(lanes), []

    async def offer(ctx: SimulatorContext) -> None:
        for first in (1, 2, 3):
            ctx.set(dut.i_data.payload, [first, 0, 0, 0])
            ctx.set(dut.i_data.valid, 1)
            await ctx.tick().until(dut.i_data.ready)
        ctx.set(dut.i_data.valid, 0)

    async def delay(ctx: SimulatorContext) -> None:
        for _ in range(50 if late else 0):
            ctx.set(dut.late, 1)
            await ctx.tick().repeat(late)
            ctx.set(dut.late, 0)
            await ctx.tick()

    async def bench(ctx: SimulatorContext) -> None:
        for _ in range(3):
            begin = pack(Begin, count=1, format=FormatCode.FP32)
            assert await asked(ctx, dut.handler, Opcode.BEGIN, begin) == bytes([Status.OK])
            replies.append(await asked(ctx, dut.handler, Opcode.END))

    simulator = Simulator(dut)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.add_testbench(offer, background=True)
    simulator.add_testbench(delay, background=True)
    simulator.run_until(2e-3)
    assert replies == [bytes([Status.OK, first]) for first in (1, 2, 3)]


@pytest.mark.parametrize("last", [0, 1])
def test_a_new_session_leaves_a_beat_that_stands_as_it_is(last: int) -> None:
    """Behind it comes a last one without an element, where it was not the last itself."""
    dut = TensorPass(configuration("small", lanes=2), ENCODER, raw=True)
    seen = []

    async def bench(ctx: SimulatorContext) -> None:
        handler = dut.handler
        ctx.set(handler.i_call.payload, {"opcode": ENCODER.begin.opcode, "length": 16})
        for port in (handler.i_call.valid, handler.o.ready):
            ctx.set(port, 1)
        for port in (dut.o_begin.ready, dut.tensor.begin.ready):
            ctx.set(port, 1)
        await ctx.tick().until(handler.i_call.ready)
        ctx.set(handler.i_call.valid, 0)
        for byte in pack(EncoderBegin, count=100, format=FormatCode.BF16):
            ctx.set(handler.i.payload, byte)
            ctx.set(handler.i.valid, 1)
            await ctx.tick().until(handler.i.ready)
        ctx.set(handler.i.valid, 0)
        await ctx.tick().until(dut.active)
        beat = {"data": [0x3F800000, 0x40000000], "keep": 3, "last": last}
        ctx.set(dut.tensor.x.payload, beat)
        ctx.set(dut.tensor.x.valid, 1)
        for cycle in range(6):
            ctx.set(handler.hello, cycle == 2)
            assert ctx.get(dut.o.valid) and ctx.get(dut.o.payload.keep) == 3
            assert ctx.get(dut.o.payload.last) == last and not ctx.get(dut.tensor.end)
            assert ctx.get(dut.gives_up) == ctx.get(dut.abandons) == (cycle > 2)
            await ctx.tick()
        ctx.set(dut.o.ready, 1)
        for _ in range(4):
            if ctx.get(dut.o.valid):
                seen.append((ctx.get(dut.o.payload.keep), ctx.get(dut.o.payload.last)))
            await ctx.tick()
        ctx.set(dut.i.valid, 1)
        await ctx.tick().repeat(2)
        assert not ctx.get(dut.active) and not ctx.get(dut.abandons)

    simulator = Simulator(dut)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()
    assert seen == ([(3, 1)] if last else [(3, 0), (0, 1)])

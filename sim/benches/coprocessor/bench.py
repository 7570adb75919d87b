"""Bench of the whole device: its bytes against the golden model's, request by request."""

import cocotb

from adagrain.models.device.coprocessor import CoprocessorModel
from adagrain.models.interface.units.system import SystemOpcode
from adagrain.models.link import encode_frame
from adagrain.sim.benches.requests import Request
from adagrain.sim.benches.tensor_input.traffic import port_beats
from adagrain.sim.simulators.bench import Bench, bench

from .traffic import Traffic

_SESSION = 0x1234_5678


async def _exchange(
    b: Bench, model: CoprocessorModel, session: int, sequence: int, request: Request
) -> None:
    """Send one request and compare the answer, which may wait for results to be taken."""
    if "o_data" in b.component.signature.members:
        b.sink("o_data")
    frame = encode_frame(session, sequence, request.opcode, request.payload)
    if request.port:
        model.load(request.words())
        b.source("i_data").put(*port_beats(request.port))
    b.source("i").put(*frame)
    await b.sink("o").expect(list(model.receive(frame)))
    if words := model.results().tolist():
        await b.sink("o_data").expect([words[at : at + 4] for at in range(0, len(words), 4)])


@bench(cycles=2_000_000)
async def answers_as_the_model(b: Bench) -> None:
    """Random requests, sound and unsound, at any idling and back-pressure."""
    model = CoprocessorModel(b.component.configuration, kernel="reference")
    traffic = Traffic(b.component.configuration, b.random, longest=b.scaled(300))
    await _exchange(b, model, _SESSION, 0, Request(SystemOpcode.HELLO))
    requests = traffic.prologue() + traffic.requests(b.scaled(80))
    for sequence, request in enumerate(requests, start=1):
        await _exchange(b, model, _SESSION, sequence, request)


@cocotb.parametrize(missing=[1, 9, 1000])
@bench(cycles=200_000)
async def a_new_session_gives_up_the_pass_of_the_port(b: Bench, missing: int) -> None:
    """Whatever was taken from the data port till then."""
    model = CoprocessorModel(b.component.configuration, kernel="reference")
    traffic = Traffic(b.component.configuration, b.random)
    await _exchange(b, model, 1, 0, Request(SystemOpcode.HELLO))
    prologue = traffic.prologue()  # tables, without which a pass of the codec takes nothing
    begin, *others = traffic.port_pass(missing)
    for sequence, request in enumerate([*prologue, begin], start=1):
        await _exchange(b, model, 1, sequence, request)
    await b.source("i_data").drain()
    await _exchange(b, model, 2, 0, Request(SystemOpcode.HELLO))
    for sequence, request in enumerate([*others, *traffic.port_pass(0)], start=1):
        await _exchange(b, model, 2, sequence, request)


@cocotb.parametrize(groups=[0, 1, 9])
@bench(cycles=200_000)
async def a_new_session_gives_up_the_pass(b: Bench, groups: int) -> None:
    """A pass that has begun is gone after HELLO, and the next one is whole."""
    model = CoprocessorModel(b.component.configuration, kernel="reference")
    traffic = Traffic(b.component.configuration, b.random)
    await _exchange(b, model, 1, 0, Request(SystemOpcode.HELLO))
    prologue = traffic.prologue()
    begin, *frames, end = traffic.link_pass()
    for sequence, request in enumerate([*prologue, *[begin, *frames][: groups + 1]], start=1):
        await _exchange(b, model, 1, sequence, request)
    await _exchange(b, model, 2, 0, Request(SystemOpcode.HELLO))
    for sequence, request in enumerate([end, begin, *frames, end], start=1):
        await _exchange(b, model, 2, sequence, request)

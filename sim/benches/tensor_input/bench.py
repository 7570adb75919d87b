"""Bench of the tensor input: what units get of tensors, however these come."""

import cocotb

from adagrain.models.interface.formats import FORMATS
from adagrain.models.interface.protocol import Status
from adagrain.models.interface.units.tensor_input import BEAT
from adagrain.sim.simulators.bench import Bench, bench
from adagrain.sim.simulators.stimulus import Stimulus

from .traffic import Pass, Traffic, by_port, port_beats, request


def outputs(b: Bench) -> list[str]:
    """Compare what the units get."""
    return [f"o_{number}" for number in range(b.component.users)]


def tensor(b: Bench, code: int, count: int) -> Pass:
    """A tensor of noise for the last unit."""
    fmt = next(fmt for fmt in FORMATS.values() if fmt.code == code)
    size = -(-count * fmt.bits // (8 * BEAT)) * BEAT
    lanes = b.component.configuration.lanes
    return Pass(b.component.users - 1, fmt.code, count, b.random.randbytes(size), lanes)


@bench(cycles=400_000)
async def equals_the_model(b: Bench) -> None:
    """Tensors by port and link, whole or given up, at any idling and any back-pressure."""
    for name in outputs(b):
        b.sink(name)
    traffic = Traffic(b.component, b.random)
    await b.demand(*traffic.stimuli(b.scaled(60)))


@bench(cycles=20_000)
async def brings_elements_without_bubbles(b: Bench) -> None:
    """While data are there and the unit takes them, a beat comes in each cycle."""
    for name in outputs(b):
        b.sink(name, stall=0)
    b.source("i_data", idle=0)
    for code in b.component.configuration.formats:
        one = tensor(b, code, b.random.randrange(200, 208))
        sink = b.sink(f"o_{one.user}")
        before = len(sink.cycles)
        await b.demand(by_port(one))
        assert sink.cycles[-1] - sink.cycles[before] == one.whole - 1, b


@bench(cycles=5_000)
async def notices_a_port_that_offers_nothing(b: Bench) -> None:
    """After as many cycles as it is told, and no longer once a beat comes."""
    patience = b.component.STARVATION
    one = tensor(b, b.component.configuration.formats[0], 8)
    first, second = port_beats(one.memory)
    source, order = b.source("i_data", idle=0), one.order(one.whole, from_link=0)
    for name in outputs(b):
        b.sink(name, stall=0)
    await b.demand(Stimulus({"i_pass": [order]}))
    for beat in (first, second):
        await b.wait(patience - 1)
        assert not b.port("starved").value, b
        await b.wait(3)
        assert b.port("starved").value and b.port("busy").value, b
        source.put(beat)
        await source.drain()
        await b.wait()
        assert not b.port("starved").value, b
    await b.demand(Stimulus({}, by_port(one).outputs))
    await b.wait(patience + 3)
    assert not b.port("starved").value and not b.port("busy").value, b


@bench(cycles=5_000)
async def a_tensor_in_requests_is_missed_at_once(b: Bench) -> None:
    """Between them, as no other request can bring it."""
    one = tensor(b, b.component.configuration.formats[0], 8)
    halves = one.memory[:BEAT], one.memory[BEAT:]
    await b.demand(Stimulus({"i_pass": [one.order(one.whole, from_link=1)]}))
    taken = 0
    for half in halves:
        await b.wait(2)
        assert b.port("starved").value, b
        covered = one.covered(taken * one.lanes * 4 + BEAT)
        brought = {f"o_{one.user}": one.beats(taken, covered)}
        await b.demand(request(half, Status.OK, brought))
        taken = covered
    await b.wait(2)
    assert not b.port("starved").value, b
    await b.demand(Stimulus({}, {"o_end": [one.user]}))


@cocotb.parametrize(from_link=[0, 1])
@bench(cycles=100_000)
async def forgets_a_pass_that_a_reset_cut_off(b: Bench, from_link: int) -> None:
    """Nothing of it is in the next tensor."""
    for name in outputs(b):
        b.sink(name, stall=0)
    traffic = Traffic(b.component, b.random)
    for _ in range(b.scaled(20)):
        one = traffic.tensor()
        await b.demand(Stimulus({"i_pass": [one.order(one.whole, from_link=from_link)]}))
        given = one.memory[: b.random.randrange(len(one.memory) // BEAT) * BEAT]
        if given and from_link:
            await b.demand(Stimulus(request(given, Status.OK).inputs))
        elif given:
            await b.demand(Stimulus({"i_data": port_beats(given)}))
        await b.wait(b.random.randrange(5))
        await b.reset(1)
        await b.demand(*traffic.by_port(), *traffic.by_link())

"""Bench of the serial line: bytes at full rate, and everything that a line can do wrong."""

import cocotb
from cocotb.triggers import RisingEdge

from adagrain.hdl.uart.rate import FRAME_BITS
from adagrain.hdl.uart.receiver import BREAK_BITS
from adagrain.sim.simulators.bench import Bench, bench

from .traffic import stimulus


def _bits(b: Bench, count: float) -> int:
    """Cycles of that many bits."""
    return round(count * b.component.cycles_per_bit)


def _counter(b: Bench, name: str) -> int:
    return b.get("counters")[name]


async def _pull(b: Bench, cycles: int) -> None:
    """Force the line low for some cycles, then let it be idle for a frame."""
    b.port("low").value = 1
    await b.wait(cycles)
    b.port("low").value = 0
    await b.wait(_bits(b, FRAME_BITS))


@bench(cycles=800_000)
async def carries_bytes(b: Bench) -> None:
    """At any idling, and at any delay shorter than a byte takes."""
    b.sink("o", stall=b.random.choice([0.0, 0.5]))
    await b.demand(stimulus(b.scaled(400), b.random))
    assert not any(b.get("counters").values())


@bench(cycles=100_000)
async def leaves_no_gap(b: Bench) -> None:
    """A busy line carries a byte in ten bits, to the cycle."""
    raw = b.elements("i", 50)
    b.source("i", idle=0).put(*raw)
    output = b.sink("o", stall=0)
    await output.expect(raw)
    taken = (output.cycles[-1] - output.cycles[0]) / (len(raw) - 1)
    sent = FRAME_BITS * b.component.cycles_per_bit / (1 + b.component.skew)
    assert abs(taken - sent) <= 0.002 * sent + 2 / len(raw)


@bench(cycles=100_000)
async def glitches_are_ignored(b: Bench) -> None:
    """A line that is low for less than half a bit brings nothing."""
    output = b.sink("o", stall=0)
    for _ in range(5):
        await _pull(b, max(1, _bits(b, 0.5) - 2))
    assert not any(b.get("counters").values())
    b.source("i").put(0x5A)
    await output.expect([0x5A])


@cocotb.parametrize(low=[0.98, 1.2])
@bench(cycles=100_000)
async def a_break_is_noticed(b: Bench, low: float) -> None:
    """From 20 bits on, not before; the bytes around it are whole."""
    output = b.sink("o", stall=0)
    b.source("i").put(0xC3)
    await output.expect([0xC3])
    await b.wait(_bits(b, FRAME_BITS))
    b.port("low").value = 1
    await b.wait(_bits(b, low * BREAK_BITS))
    assert int(b.port("is_break").value) == (low > 1)
    b.port("low").value = 0
    await b.wait(_bits(b, 2))
    assert int(b.port("is_break").value) == 0
    assert _counter(b, "breaks") == (low > 1)
    assert _counter(b, "framing_errors") == 1
    b.source("i").put(0x3C)
    await output.expect([0x3C])


@bench(cycles=100_000)
async def a_byte_without_room_is_counted(b: Bench) -> None:
    """The first one waits, those behind it are dropped."""
    output = b.sink("o", stall=1)
    b.source("i", idle=0).put(1, 2, 3)
    await b.source("i").drain()
    await b.wait(_bits(b, 2 * FRAME_BITS))
    assert _counter(b, "overruns") == 2
    output.stall = 0
    await output.expect([1])
    b.source("i").put(4)
    await output.expect([4])


async def _race(b: Bench, delay: int) -> tuple[int | None, int, bool]:
    """Two bytes, of which the first is taken so many cycles after it is offered.

    In which cycle it was taken, if it could be, and the second one came; whether that got lost.
    """
    await b.reset()
    valid, ready = b.port("o__valid"), b.port("o__ready")
    ready.value = 0
    b.source("i", idle=0).put(0xA5, 0x5A)
    await RisingEdge(valid)
    await b.wait()
    taken, cycle = None, 0
    while True:
        ready.value = cycle == delay
        await b.wait()
        lost = _counter(b, "overruns") > 0
        if lost or (valid.value and int(b.port("o__payload").value) == 0x5A):
            return taken, cycle - 1, lost  # what a byte does shows a cycle after it came
        if cycle == delay:
            taken = cycle
        cycle += 1


@bench(cycles=100_000)
async def a_byte_may_come_as_the_one_before_is_taken(b: Bench) -> None:
    """There is room from the very cycle on in which the first one is taken."""
    _, usual, _ = await _race(b, 0)
    races = [await _race(b, usual + late) for late in range(-3, 4)]
    assert any(taken == came for taken, came, _ in races), races
    assert any(lost for *_, lost in races), races
    for taken, came, lost in races:
        assert lost == (taken is None or taken > came), races

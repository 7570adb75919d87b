# amaranth: UnusedElaboratable=no
"""Compiled units: elements, stops, deadlocks, ports, threads."""

import re
import subprocess
import sys
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from amaranth.hdl import Module, Signal, signed
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from adagrain.hdl.stream.queue import Queue
from adagrain.sim.compiled import CompiledUnit, DeadlockError, Stop
from adagrain.sim.compiled.ports import ports_of
from adagrain.sim.simulators import verilator

WIDTHS = (1, 8, 9, 16, 31, 33, 64, 65, 128, 131)


class Shelf(wiring.Component):
    """Queues of all widths side by side, an adder whose sum is registered, and a guard that sees
    ``i_16`` take back what it offered."""

    def __init__(self) -> None:
        streams: dict[str, Any] = {}
        for width in WIDTHS:
            streams[f"i_{width}"] = In(stream.Signature(width))
            streams[f"o_{width}"] = Out(stream.Signature(width))
        pair = data.StructLayout({"a": signed(5), "b": 8})
        super().__init__({**streams, "pair": In(pair), "sum": Out(signed(70)), "retracted": Out(1)})

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        for width in WIDTHS:
            m.submodules[f"queue_{width}"] = queue = Queue(width, depth=4)
            wiring.connect(m, wiring.flipped(getattr(self, f"i_{width}")), queue.i)
            wiring.connect(m, queue.o, wiring.flipped(getattr(self, f"o_{width}")))
        m.d.sync += self.sum.eq(self.pair.a + self.pair.b)
        waiting, offered = Signal(), Signal(16)
        m.d.sync += [
            waiting.eq(self.i_16.valid & ~self.i_16.ready),
            offered.eq(self.i_16.payload),
        ]
        with m.If(waiting & (~self.i_16.valid | (self.i_16.payload != offered))):
            m.d.sync += self.retracted.eq(1)
        return m


@pytest.fixture(scope="module", autouse=True)
def simulator() -> None:
    try:
        verilator.require()
    except verilator.ToolMissingError as error:
        pytest.skip(str(error))


@pytest.fixture
def shelf() -> Any:
    with CompiledUnit(Shelf(), "shelf") as unit:
        yield unit


def _random_elements(rng: np.random.Generator, width: int, count: int) -> np.ndarray:
    """Elements whose storage is noise also above the payload's width."""
    raw = next(n for n in (1, 2, 4, 8, 12, 16, 20) if width <= 8 * n)
    return rng.integers(0, 256, (count, raw), dtype=np.uint8)


def _numbers(elements: np.ndarray, width: int = 1000) -> list[int]:
    rows = np.ascontiguousarray(elements).view(np.uint8).reshape(len(elements), -1)
    return [int.from_bytes(bytes(row), "little") % (1 << width) for row in rows]


@pytest.mark.parametrize(("idle", "stall"), [(0, 0), (200, 0), (0, 200), (90, 130)])
def test_elements_of_all_widths_pass(shelf: CompiledUnit, idle: int, stall: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    given = {width: _random_elements(rng, width, 300) for width in WIDTHS}
    run = shelf.run(
        {f"i_{width}": elements for width, elements in given.items()},
        {f"o_{width}": 300 for width in WIDTHS},
        max_cycles=20_000,
        idle=idle,
        stall=stall,
        seed=seed,
    )
    for width, elements in given.items():
        assert _numbers(run.outputs[f"o_{width}"]) == _numbers(elements, width)
        assert run.consumed[f"i_{width}"] == 300
    assert shelf.get("retracted") == 0
    if idle or stall:
        assert run.cycles > 500
    else:
        assert run.cycles == 302  # a queue's latency, and no bubbles


def test_chances_can_differ_by_stream(shelf: CompiledUnit) -> None:
    run = shelf.run(
        {"i_8": bytes(100), "i_16": bytes(100)},
        {"o_8": 100},
        max_cycles=5_000,
        idle={"i_16": 250},
        stop=Stop("o_8", 0, 100),
    )
    assert run.cycles == 102
    assert run.consumed["i_16"] < 10


def test_outputs_keep_their_types(shelf: CompiledUnit) -> None:
    run = shelf.run(
        {"i_9": np.array([0x1FF], np.uint16), "i_65": np.arange(6, dtype=np.uint32)},
        {"o_9": 1, "o_65": 2},
        max_cycles=100,
    )
    assert run.outputs["o_9"].dtype == np.uint16
    assert run.outputs["o_9"].tolist() == [0x1FF]
    assert run.outputs["o_65"].tolist() == [[0, 1, 0], [3, 4, 1]]


def test_stop_ends_the_run_and_the_state_stays(shelf: CompiledUnit) -> None:
    run = shelf.run(
        {"i_8": b"ab\0cd\0ef"}, {"o_8": 100}, max_cycles=100, stop=Stop("o_8", 0, times=2)
    )
    assert run.outputs["o_8"].tobytes() == b"ab\0cd\0"
    assert run.consumed["i_8"] == 8
    rest = shelf.run({}, {"o_8": 2}, max_cycles=100)
    assert rest.outputs["o_8"].tobytes() == b"ef"


def test_input_that_was_not_consumed_is_told(shelf: CompiledUnit) -> None:
    run = shelf.run({"i_8": bytes(9)}, {"o_8": 9}, max_cycles=100, stop=Stop("o_8", 0))
    assert 1 <= run.consumed["i_8"] < 9


def test_deadlock_says_what_was_moved(shelf: CompiledUnit) -> None:
    message = r"shelf came to no end in 50 cycles: i_8 consumed 4 of 6, o_16 delivered 0 of 1"
    with pytest.raises(DeadlockError, match=message) as caught:
        shelf.run({"i_8": b"abcdef"}, {"o_16": 1}, max_cycles=50)
    assert isinstance(caught.value, TimeoutError)
    assert caught.value.run.consumed == {"i_8": 4}
    assert shelf.run({}, {"o_8": 4}, max_cycles=50).outputs["o_8"].tobytes() == b"abcd"


def test_deadlock_keeps_the_outputs(shelf: CompiledUnit) -> None:
    with pytest.raises(DeadlockError) as caught:
        shelf.run({"i_8": b"abc"}, {"o_8": 9}, max_cycles=50)
    assert caught.value.run.outputs["o_8"].tobytes() == b"abc"


def test_nothing_to_move_takes_no_cycle(shelf: CompiledUnit) -> None:
    assert shelf.run({}, {}, max_cycles=0).cycles == 0


def test_reset_empties_the_queues(shelf: CompiledUnit) -> None:
    shelf.run({"i_8": b"abc"}, {}, max_cycles=10)
    shelf.reset()
    with pytest.raises(DeadlockError):
        shelf.run({}, {"o_8": 1}, max_cycles=10)


def test_other_ports_are_set_and_read(shelf: CompiledUnit) -> None:
    for a, b in [(-16, 3), (15, 255), (-1, 0)]:
        shelf.set("pair", {"a": a, "b": b})
        assert shelf.get("pair") == {"a": a, "b": b}
        shelf.step(1)
        assert shelf.get("sum") == a + b


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"inputs": {"i": b""}}, "input stream must be one of i_1, .*, not 'i'"),
        ({"outputs": {"i_8": 1}}, "output stream must be one of o_1, .*, not 'i_8'"),
        ({"inputs": {"i_128": bytes(17)}}, "whole elements of 16 bytes, not 17 bytes"),
        ({"inputs": {"i_8": np.zeros((4, 4))[:, 1]}}, "must be contiguous"),
        ({"stop": Stop("o_8", 0)}, "stop must be at one of the outputs, not at 'o_8'"),
        ({"outputs": {"o_65": 1}, "stop": Stop("o_65", 0)}, "at most 64 bits, not o_65"),
        ({"idle": {"o_8": 9}}, "input stream of idle must be one of i_1, .*, not 'o_8'"),
        ({"stall": {"zz": 9}}, "output stream of stall must be one of o_1, .*, not 'zz'"),
        ({"max_cycles": 1 << 64}, r"max_cycles must be from 0 to 2\*\*64 - 1, not 18446744073709"),
        ({"max_cycles": -1}, r"max_cycles must be from 0 to 2\*\*64 - 1, not -1"),
    ],
)
def test_bad_arguments_are_refused(
    shelf: CompiledUnit, arguments: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        shelf.run(**{"max_cycles": 10} | arguments)


@pytest.mark.parametrize("name", ["idle", "stall"])
def test_bad_chances_are_refused(shelf: CompiledUnit, name: str) -> None:
    stream = {"idle": "i_8", "stall": "o_8"}[name]
    for chance in (-1, 257):
        with pytest.raises(ValueError, match=f"^{name} must be from 0 to 256, not {chance}$"):
            shelf.run(**{name: chance}, max_cycles=10)
    with pytest.raises(TypeError, match=f"^{name} must be an integer, not 0.5$"):
        shelf.run(**{name: 0.5}, max_cycles=10)
    with pytest.raises(TypeError, match=f"^{name} of {stream} must be an integer, not 0.5$"):
        shelf.run(**{name: {stream: 0.5}}, max_cycles=10)


def test_stops_that_would_never_come_are_refused(shelf: CompiledUnit) -> None:
    for value in (-1, 512):
        with pytest.raises(ValueError, match=f"value of stop must be from 0 to 511, not {value}"):
            shelf.run(outputs={"o_9": 1}, stop=Stop("o_9", value), max_cycles=10)
    for times in (-1, 0):
        with pytest.raises(ValueError, match=f"times of stop must be at least 1, not {times}"):
            shelf.run(outputs={"o_9": 1}, stop=Stop("o_9", 511, times), max_cycles=10)


def test_ports_that_are_not_there_are_refused(shelf: CompiledUnit) -> None:
    with pytest.raises(ValueError, match="port must be one of pair, sum, retracted, not 'zz'"):
        shelf.get("zz")
    for name in ("zz", "sum"):
        with pytest.raises(ValueError, match=f"input port must be one of pair, not '{name}'"):
            shelf.set(name, 1)


def test_streams_must_have_both_sides() -> None:
    class Always(wiring.Component):
        i: In(stream.Signature(8, always_ready=True))  # type: ignore[valid-type]

    with pytest.raises(ValueError, match="stream i must have both valid and ready"):
        ports_of(Always())


def test_arrays_of_streams_are_refused() -> None:
    streams = wiring.Component({"i": In(stream.Signature(8)).array(2)})
    with pytest.raises(ValueError, match=r"stream i must be one, not an array of \(2,\)"):
        ports_of(streams)


def test_instances_run_in_threads_of_their_own() -> None:
    results: dict[int, bool] = {}

    def work(seed: int) -> None:
        elements = np.random.default_rng(seed).integers(0, 1 << 32, 200_000, dtype=np.uint32)
        with CompiledUnit(Shelf(), "shelf") as unit:
            run = unit.run(
                {"i_31": elements}, {"o_31": len(elements)}, max_cycles=1_000_000, idle=60
            )
        results[seed] = bool((run.outputs["o_31"] == elements & 0x7FFF_FFFF).all())

    threads = [threading.Thread(target=work, args=(seed,)) for seed in (1, 2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert results == {1: True, 2: True}


FORKED = """
import os, sys
from adagrain.hdl.stream.queue import Queue
from adagrain.sim.compiled import CompiledUnit

unit = CompiledUnit(Queue(8, depth=4), "queue")
child = os.fork()
unit.close()  # in both
os._exit(0 if child == 0 or os.waitpid(child, 0)[1] == 0 else 1)
"""


def test_a_forked_process_does_not_free_what_is_its_parent_s() -> None:
    """It would wait for threads that are not there."""
    forked = subprocess.run([sys.executable, "-c", FORKED], timeout=300, check=False)
    assert forked.returncode == 0


@pytest.mark.parametrize(
    "use",
    [
        lambda unit: unit.run({"i_8": bytes(1)}, {"o_8": 1}, max_cycles=9),
        lambda unit: unit.step(1),
        lambda unit: unit.reset(),
        lambda unit: unit.set("pair", {"a": 1, "b": 2}),
        lambda unit: unit.get("sum"),
    ],
)
def test_a_unit_that_was_closed_is_refused(use: Callable[[CompiledUnit], object]) -> None:
    unit = CompiledUnit(Shelf(), "shelf")
    unit.close()
    unit.close()
    with pytest.raises(ValueError, match=re.escape("shelf must not be used after close()")):
        use(unit)

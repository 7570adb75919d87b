"""Parts of cocotb benches: clock and reset, stimuli, time limits.

This module runs inside the simulator. A bench is a coroutine under :func:`bench`; it gets a
:class:`Bench` with the clock running and the unit out of reset::

    @bench(cycles=10_000)
    async def keeps_order(b: Bench) -> None:
        elements = b.elements("i", b.scaled(500))
        b.source("i").put(*elements)
        await b.sink("o").expect(elements)

All randomness comes from the run's seed, so that a failure can be run again.
"""

import functools
import importlib
import os
import random
import warnings
from collections.abc import Callable, Coroutine
from typing import Any

import cocotb
from amaranth.hdl import UnusedElaboratable
from amaranth.lib import wiring
from cocotb.clock import Clock
from cocotb.triggers import RisingEdge, SimTimeoutError, with_timeout
from cocotb.utils import get_sim_time

from .payload import decode, encode
from .stimulus import Stimulus, as_list, random_elements
from .streams import StreamSink, StreamSource

__all__ = ["Bench", "bench"]

PERIOD = 10  # ns
BenchCoroutine = Callable[..., Coroutine[Any, None, None]]
#: Chances from which a stream draws its own where the bench does not say.
CHANCES = (0.0, 0.1, 0.5, 0.9)
#: Cycles after a bench in which nothing unexpected may come out.
AFTERMATH = 20

# The component is built here for its properties and shapes alone.
warnings.simplefilter("ignore", UnusedElaboratable)


def _sweep() -> float:
    return float(os.environ["ADAGRAIN_SWEEP"])


def bench(*, cycles: int) -> Callable[[BenchCoroutine], Any]:
    """Make a cocotb test of a coroutine that takes a :class:`Bench`.

    The test fails when the coroutine has not ended after ``cycles`` clock cycles (three times as
    many where ``ADAGRAIN_FULL=1``), and when an output delivers more than the coroutine took.
    ``@cocotb.parametrize(…)`` goes above it.
    """

    limit = round(cycles * max(1, _sweep()))

    def decorate(test: BenchCoroutine) -> Any:
        @cocotb.test()
        @functools.wraps(test)
        async def limited(dut: Any, **parameters: Any) -> None:
            b = Bench(dut)
            await b.reset()
            task = cocotb.start_soon(test(b, **parameters))
            try:
                await with_timeout(task, limit * PERIOD, "ns")
            except SimTimeoutError:
                raise AssertionError(f"no end after {limit} cycles: {b}") from None
            await b.wait(AFTERMATH)
            b.check_finished()

        return limited

    return decorate


class Bench:
    """The unit under test and all that drives it.

    Attributes
    ----------
    dut : cocotb handle
        The Verilog top level, for ports that are not streams.
    component : wiring.Component
        The same component in Python: its parameters and its signature.
    random : random.Random
        The bench's own random numbers.
    seed : int
        What the run has to be given to repeat itself.
    """

    def __init__(self, dut: Any) -> None:
        self.dut = dut
        unit = importlib.import_module(os.environ["ADAGRAIN_UNIT"])
        self.component: Any = unit.VARIANTS[os.environ["ADAGRAIN_VARIANT"]]()
        self.seed = int(os.environ["COCOTB_RANDOM_SEED"])
        self.random = random.Random(cocotb.RANDOM_SEED)
        self._sources: dict[str, StreamSource] = {}
        self._sinks: dict[str, StreamSink] = {}
        Clock(dut.clk, PERIOD, unit="ns").start()
        for path, member, _ in self.component.signature.flatten(self.component):
            if member.flow is wiring.In:
                self.port("__".join(map(str, path))).value = 0

    def port(self, name: str) -> Any:
        """Handle of a port by its name in Verilog."""
        return getattr(self.dut, name)

    def source(self, name: str, idle: float | None = None) -> StreamSource:
        """The source that drives an input stream; one is made at the first call.

        ``idle`` is the chance, cycle by cycle, that it holds an element back; where it is not
        given, one of :data:`CHANCES` is drawn.
        """
        if name not in self._sources:
            self._sources[name] = StreamSource(self, name, self._chance(idle))
        return self._sources[name]

    def sink(self, name: str, stall: float | None = None) -> StreamSink:
        """The sink that empties an output stream; one is made at the first call.

        ``stall`` is the chance, cycle by cycle, that it is not ready; where it is not given, one
        of :data:`CHANCES` is drawn.
        """
        if name not in self._sinks:
            self._sinks[name] = StreamSink(self, name, self._chance(stall))
        return self._sinks[name]

    def shape(self, name: str) -> Any:
        """Payload shape of a stream."""
        return self.component.signature.members[name].signature.members["payload"].shape

    def elements(self, name: str, count: int) -> list[Any]:
        """That many random elements for a stream."""
        return random_elements(self.shape(name), count, self.random)

    @property
    def cycle(self) -> int:
        """Clock cycles since the simulation began."""
        return int(get_sim_time("ns")) // PERIOD

    async def wait(self, cycles: int = 1) -> None:
        """Let some clock cycles pass."""
        for _ in range(cycles):
            await RisingEdge(self.dut.clk)

    async def reset(self, cycles: int = 2) -> None:
        """Hold the unit in reset for some cycles. Sources do not stop for it.

        What came out before and was not taken yet is forgotten.
        """
        self.dut.rst.value = 1
        await self.wait(cycles)
        for sink in self._sinks.values():
            sink.received.clear()
        self.dut.rst.value = 0
        await self.wait()

    def scaled(self, count: int) -> int:
        """A number of cases: a tenth on Icarus, three times as many where ``ADAGRAIN_FULL=1``.

        On a netlist it stays as it is.
        """
        return max(1, round(count * _sweep()))

    def set(self, name: str, value: Any) -> None:
        """Set an input port that is not part of a stream, by its name in Verilog."""
        self.port(name).value = encode(self._port_shape(name), value)

    def get(self, name: str) -> Any:
        """Value of a port that is not part of a stream."""
        return decode(self._port_shape(name), int(self.port(name).value))

    def _port_shape(self, name: str) -> Any:
        members = self.component.signature.flatten(self.component)
        return next(m.shape for path, m, _ in members if "__".join(map(str, path)) == name)

    def begin(self, stimulus: Stimulus) -> None:
        """Set a stimulus' ports, line up what goes in, and let what comes out."""
        for name, value in stimulus.ports.items():
            self.set(name, value)
        for name in stimulus.outputs:
            self.sink(name)
        for name, elements in stimulus.inputs.items():
            self.source(name).put(*as_list(elements))

    async def demand(self, *stimuli: Stimulus) -> None:
        """Give stimuli, one after the other, and demand what each must bring."""
        for stimulus in stimuli:
            self.begin(stimulus)
            for name, elements in stimulus.outputs.items():
                await self.sink(name).expect(as_list(elements))
            for name in stimulus.inputs:
                await self.source(name).drain()
            if stimulus.shown:
                await self.wait()
            for name, value in stimulus.shown.items():
                assert self.get(name) == value, f"{name} must be {value}: {self}"

    async def demand_pipeline(self, stimulus: Stimulus) -> None:
        """``o`` must give one for each on ``i``, in each cycle, the first after ``LATENCY``."""
        source, output = self.source("i", idle=0), self.sink("o", stall=0)
        start = self.cycle
        await self.demand(stimulus)
        assert output.cycles[-1] - output.cycles[0] == source.accepted - 1, self
        assert output.cycles[0] - start <= self.component.LATENCY + 2, self

    def check_finished(self) -> None:
        """Fail if an output delivered what nobody took."""
        for sink in self._sinks.values():
            assert not sink.received, f"{sink.name} delivered more than expected: {self}"

    def _chance(self, given: float | None) -> float:
        return self.random.choice(CHANCES) if given is None else given

    def __str__(self) -> str:
        streams = (*self._sources.values(), *self._sinks.values())
        return "; ".join([*map(str, streams), f"seed {self.seed}"])

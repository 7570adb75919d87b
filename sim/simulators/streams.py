"""Sources and sinks of streams in cocotb benches."""

import random
from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import cocotb
from cocotb.triggers import Event, RisingEdge

from .payload import decode, encode

if TYPE_CHECKING:
    from .bench import Bench

__all__ = ["StreamSink", "StreamSource"]


class StreamSource:
    """Drives one input stream. While nothing is offered the payload is noise.

    Attributes
    ----------
    idle : float
        Chance, cycle by cycle, that an element is held back.
    accepted : int
        Elements that the unit has taken.
    """

    def __init__(self, b: "Bench", name: str, idle: float) -> None:
        self.name = name
        self.idle = idle
        self.accepted = 0
        self._clock = b.dut.clk
        self._payload = b.port(f"{name}__payload")
        self._valid = b.port(f"{name}__valid")
        self._ready = b.port(f"{name}__ready")
        self._shape = b.shape(name)
        self._random = random.Random(f"{cocotb.RANDOM_SEED} {name}")
        self._elements: deque[Any] = deque()
        self._drained = Event()
        cocotb.start_soon(self._drive())

    def put(self, *elements: Any) -> None:
        """Line up elements; they go out in order, at the source's own pace."""
        self._elements.extend(elements)
        self._drained.clear()

    async def drain(self) -> None:
        """Wait until the unit has taken every element."""
        if self._elements:
            await self._drained.wait()

    async def _drive(self) -> None:
        width = len(self._payload)
        while True:
            if not self._elements or self._random.random() < self.idle:
                self._payload.value = self._random.getrandbits(width)
                self._valid.value = 0
                await RisingEdge(self._clock)
            else:
                self._payload.value = encode(self._shape, self._elements[0])
                self._valid.value = 1
                await self._transfer()

    async def _transfer(self) -> None:
        await RisingEdge(self._clock)
        while not self._ready.value:
            await RisingEdge(self._clock)
        self._elements.popleft()
        self.accepted += 1
        if not self._elements:
            self._drained.set()

    def __str__(self) -> str:
        waiting = len(self._elements)
        return f"{self.name} accepted {self.accepted}, {waiting} wait, idle {self.idle}"


class StreamSink:
    """Empties one output stream, and fails the test when an offered element changes or vanishes.

    Only a reset may take an element back; none is received while it lasts.

    Attributes
    ----------
    stall : float
        Chance, cycle by cycle, that it is not ready.
    received : deque
        Elements that nobody took yet.
    cycles : list of int
        The cycle in which each element came, since the beginning.
    """

    def __init__(self, b: "Bench", name: str, stall: float) -> None:
        self.name = name
        self.stall = stall
        self.received: deque[Any] = deque()
        self.cycles: list[int] = []
        self._bench = b
        self._clock, self._reset = b.dut.clk, b.dut.rst
        self._payload = b.port(f"{name}__payload")
        self._valid = b.port(f"{name}__valid")
        self._ready = b.port(f"{name}__ready")
        self._shape = b.shape(name)
        self._random = random.Random(f"{cocotb.RANDOM_SEED} {name}")
        self._arrival = Event()
        cocotb.start_soon(self._collect())

    async def take(self, count: int = 1) -> list[Any]:
        """Wait for the next ``count`` elements."""
        while len(self.received) < count:
            self._arrival.clear()
            await self._arrival.wait()
        return [self.received.popleft() for _ in range(count)]

    async def expect(self, elements: Sequence[Any]) -> None:
        """Take as many elements as given, and fail at the first that differs.

        Fields left out are 0.
        """
        for index, element in enumerate(elements):
            wanted = decode(self._shape, encode(self._shape, element))
            (got,) = await self.take()
            assert got == wanted, (
                f"{self.name}[{index}] must be {self._show(wanted)}, "
                f"not {self._show(got)}: {self._bench}"
            )

    async def _collect(self) -> None:
        offered: int | None = None
        while True:
            ready = self._random.random() >= self.stall
            self._ready.value = ready
            await RisingEdge(self._clock)
            bits = int(self._payload.value) if self._valid.value else None
            assert offered is None or offered == bits, (
                f"{self.name} took back {self._show(decode(self._shape, offered))} "
                f"before it was accepted: {self._bench}"
            )
            resets = bool(self._reset.value)
            offered = None if ready or resets else bits
            if ready and bits is not None and not resets:
                self.received.append(decode(self._shape, bits))
                self.cycles.append(self._bench.cycle)
                self._arrival.set()

    def _show(self, element: Any) -> str:
        return f"{element} ({encode(self._shape, element):#x})"

    def __str__(self) -> str:
        waiting = len(self.received)
        return f"{self.name} delivered {len(self.cycles)}, {waiting} untaken, stall {self.stall}"

"""The virtual board in step with its driver: time is counted in clock cycles."""

from typing import Self

import numpy as np

from adagrain.models.interface.configuration import Configuration
from adagrain.sim.compiled import CompiledUnit, DeadlockError, Stop
from adagrain.sim.virtual_board.board import BAUD, BREAK_CYCLES, CLOCK
from adagrain.sim.virtual_board.faulty_line import FaultyLine
from adagrain.sim.virtual_board.wired import Wired

__all__ = ["SteppedTransport"]

#: Bit times of a byte on the line.
_BYTE_BITS = 10

#: Bytes that a run may bring, more frames than they can hold, and cycles of a run without an end.
_ROOM, _MANY, _SLICE = 1 << 16, 1 << 16, 1 << 20


class SteppedTransport:
    """The top level down to its serial pins, clocked only while an answer is awaited.

    The host costs no time at all: what is measured here is what gateware and protocol reach, and it
    is the same in each run.

    Parameters
    ----------
    configuration : Configuration
        What the device is built with.
    there, back : FaultyLine or None
        Lines to the device and from it; ``None``: one without faults.
    adapter_baud : float
        Bit rate of the host's end.

    Members
    -------
    cycles : int
        Clock cycles so far.
    """

    data_port = False
    CYCLES_PER_BYTE = round(_BYTE_BITS * CLOCK / BAUD)

    def __init__(
        self,
        configuration: Configuration,
        *,
        there: FaultyLine | None = None,
        back: FaultyLine | None = None,
        adapter_baud: float = BAUD,
    ) -> None:
        board = Wired(configuration, clock=CLOCK, baud=BAUD, adapter_baud=adapter_baud)
        made_from = repr((configuration, CLOCK, BAUD, adapter_baud))
        self._unit = CompiledUnit(board, "virtual-board", made_from=made_from)
        self.backend = f"virtual board in steps: {self._unit.backend}"
        self._there = there or FaultyLine({}, 0)
        self._back = back or FaultyLine({}, 0)
        self._to_device = b""
        self._arrived = b""
        self.cycles = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def send(self, raw: bytes) -> None:
        self._to_device += self._there.carry(raw)

    def insert(self, raw: bytes) -> None:
        """Send bytes that the driver knows nothing of, until the last one has left."""
        self._to_device += raw
        while self._to_device:
            self._arrived += self._run(Stop("o", 0, _MANY), _SLICE)

    def receive(self, frames: int, timeout: float) -> bytes:
        arrived, self._arrived = self._arrived, b""
        return arrived or self._run(Stop("o", 0, frames), max(1, round(timeout * CLOCK)))

    def _run(self, stop: Stop, cycles: int) -> bytes:
        try:
            run = self._unit.run({"i": self._to_device}, {"o": _ROOM}, stop=stop, max_cycles=cycles)
        except DeadlockError as unfinished:
            run = unfinished.run
        self._to_device = self._to_device[run.consumed["i"] :]
        self.cycles += run.cycles
        return self._back.carry(run.outputs["o"].tobytes())

    def abandon(self) -> bool:
        self._to_device = self._there.carry(b"\0")
        return True

    def send_break(self) -> None:
        self._unit.set("low", 1)
        self._unit.step(BREAK_CYCLES)
        self._unit.set("low", 0)
        self.cycles += BREAK_CYCLES
        self._to_device = self._arrived = b""

    def now(self) -> float:
        return self.cycles / CLOCK

    def load(self, words: np.ndarray) -> None:
        raise NotImplementedError("a board has no data port")

    def results(self) -> np.ndarray:
        raise NotImplementedError("a board has no data port")

    def close(self) -> None:
        self._unit.close()

"""``sim:`` - the gateware, compiled by Verilator, in process."""

import time

import numpy as np

from adagrain.hdl.device.coprocessor import Coprocessor
from adagrain.models.interface.configuration import Configuration
from adagrain.sim.compiled import CompiledUnit, DeadlockError, Stop

__all__ = ["SimulatedTransport"]

#: Clock cycles between two looks at the clock on the wall.
_SLICE = 1 << 20

#: Beats of results that a run may bring.
_BEATS = 1 << 14


class SimulatedTransport:
    """The top level's register-transfer description, clocked while an answer is awaited.

    Parameters
    ----------
    configuration : Configuration
        What is built.
    data_port : bool
        Whether tensors enter by the data port; otherwise they travel in frames, as on a board.
    netlist : str or None
        FPGA family: simulate what synthesis for it makes of the top level.
    """

    def __init__(
        self, configuration: Configuration, *, data_port: bool = True, netlist: str | None = None
    ) -> None:
        self.data_port = data_port
        component = Coprocessor(configuration)
        self._unit = CompiledUnit(
            component,
            "coprocessor",
            made_from=repr(configuration),
            family=netlist,
        )
        self.backend = self._unit.backend
        self._to_device = b""
        self._words = _nothing()
        self._results: list[np.ndarray] = []
        self._rooms = {"o": 2 * configuration.window * (configuration.payload + 64)}
        if "o_data" in component.signature.members:
            self._rooms["o_data"] = _BEATS
        self._resettable = self._rooms.keys() - {"o"}  # the watchdog resets units, not the link

    def send(self, raw: bytes) -> None:
        self._to_device += raw

    def receive(self, frames: int, timeout: float) -> bytes:
        deadline = time.monotonic() + timeout
        arrived = b""
        while frames > arrived.count(0) and time.monotonic() < deadline:
            arrived += self._run(Stop("o", 0, frames - arrived.count(0)))
        return arrived

    def _run(self, stop: Stop) -> bytes:
        inputs: dict[str, bytes | np.ndarray] = {"i": self._to_device, "i_data": self._words}
        try:
            run = self._unit.run(
                inputs, self._rooms, stop=stop, max_cycles=_SLICE, may_retract=self._resettable
            )
        except DeadlockError as unfinished:
            run = unfinished.run
        self._to_device = self._to_device[run.consumed["i"] :]
        rest = self._words[run.consumed["i_data"] * 4 :]
        self._words = rest if len(rest) else _nothing()  # which holds no memory of others
        if "o_data" in run.outputs:
            self._results.append(run.outputs["o_data"].ravel())
        return run.outputs["o"].tobytes()

    def abandon(self) -> bool:
        return False

    def send_break(self) -> None:
        self._unit.reset()
        self._to_device = b""
        self._results.clear()

    def now(self) -> float:
        return time.monotonic()

    def load(self, words: np.ndarray) -> None:
        self._words = words

    def results(self) -> np.ndarray:
        words = [_nothing(), *self._results]
        self._results.clear()
        return np.concatenate(words)

    def close(self) -> None:
        self._words = _nothing()
        self._unit.close()


def _nothing() -> np.ndarray:
    return np.zeros(0, dtype=np.uint32)

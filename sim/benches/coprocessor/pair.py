"""A compiled device and its golden model, side by side."""

import random
from collections.abc import Mapping
from typing import Self

import numpy as np

from adagrain.hdl.device.coprocessor import Coprocessor
from adagrain.models.device.coprocessor import CoprocessorModel
from adagrain.models.interface.units.system import SystemOpcode
from adagrain.models.link import Frame, decode_frame, encode_frame
from adagrain.sim.benches.requests import Request
from adagrain.sim.compiled import CompiledUnit, DeadlockError, Stop

__all__ = ["DifferenceError", "Pair"]

#: Clock cycles within which the device must have answered.
_CYCLES = 400_000

#: Cycles for which the device is given bytes before a pause.
_PUSHING = 1000

#: Beats that a run may bring out of the data port.
_BEATS = 1 << 12

#: Chances in 256 of idling and back-pressure.
_CHANCES = (0, 0, 30, 128, 230)


class DifferenceError(AssertionError):
    """The device did not answer as its golden model."""


class Pair:
    """Gives bytes to both, and demands the same answers.

    Parameters
    ----------
    component : Coprocessor
        The device.
    generator : random.Random
        Of idling and back-pressure.
    """

    def __init__(self, component: Coprocessor, generator: random.Random) -> None:
        made_from = repr((component.configuration, component.starvation))
        self._unit = CompiledUnit(component, "coprocessor", made_from=made_from)
        self._sends = "o_data" in component.signature.members
        self._random = generator
        self.model = CoprocessorModel(component.configuration, kernel="reference")
        self._forget()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._unit.close()

    def reset(self) -> None:
        """Power-on state of both, but for the contents of memories."""
        self._unit.reset()
        self.model.reset()
        self._forget()

    def _forget(self) -> None:
        self._to_device = b""
        self._port = np.zeros((0, 4), dtype=np.uint32)
        self._session = self._sequence = 0
        self._results: list[int] = []  # of the data port
        self._wanted: list[int] = []

    def open(self, session: int = 1) -> None:
        """Open a session; :meth:`ask` numbers its requests from then on."""
        self._session, self._sequence = session, 0
        self.ask(Request(SystemOpcode.HELLO))

    def ask(self, request: Request) -> Frame:
        """The answers of both to the session's next request."""
        frame = encode_frame(self._session, self._sequence, request.opcode, request.payload)
        self._sequence = (self._sequence + 1) & 0xFFFF
        return decode_frame(self.exchange(frame, request.port or None)[:-1])

    def exchange(self, raw: bytes, port: bytes | None = None, *, pause: int = 0) -> bytes:
        """The answers of both to bytes from the host, which may end within a frame.

        Parameters
        ----------
        port : bytes or None
            What the data port offers from now on; ``None``: what is left there.
        pause : int
            Cycles in which nothing moves, before any answer is taken.

        Raises
        ------
        DifferenceError
            If they differ, or the device takes other data from its port.
        """
        if port is not None:
            self._port = np.frombuffer(bytearray(port), dtype=np.uint32).reshape(-1, 4)
            self.model.load(self._port.reshape(-1))
        wanted = self.model.receive(raw)
        self._to_device += raw
        if pause:
            self._run({"i": self._to_device}, 0, None, _PUSHING)
            self._unit.step(pause)
        got = self._answer(len(wanted), wanted.count(0)) if wanted else b""
        if got != wanted:
            raise DifferenceError(f"answer must be {wanted.hex(' ')}, not {got.hex(' ')}")
        self._drain_port()
        self._compare_results()
        return wanted

    def check_silence(self, cycles: int = 2000) -> None:
        """Demand that the device has nothing more to say.

        Raises
        ------
        DifferenceError
            If it has.
        """
        said = self._run({"i": self._to_device}, 64, None, cycles)
        if said:
            raise DifferenceError(f"device must be silent, not say {said.hex(' ')}")

    def _answer(self, length: int, frames: int) -> bytes:
        inputs: dict[str, bytes | np.ndarray] = {"i": self._to_device, "i_data": self._port}
        return self._run(inputs, length + 64, Stop("o", 0, frames), _CYCLES)

    def _drain_port(self) -> None:
        """Let the device take from its port what the model has taken, and no more."""
        left = self.model.commands.tensor_input.beats
        for _ in range(_CYCLES // _PUSHING):
            if len(self._port) <= left:
                break
            self._run({"i_data": self._port[: len(self._port) - left]}, 0, None, _PUSHING)
        if len(self._port) != left:
            raise DifferenceError(f"port must have {left} groups left, not {len(self._port)}")

    def _compare_results(self) -> None:
        """Compare what has come out of the data port so far; now and then, wait for all of it."""
        self._wanted += self.model.results().tolist()
        waits = self._random.random() < 0.3
        for _ in range(_CYCLES // _PUSHING):
            if not waits or len(self._results) >= len(self._wanted):
                break
            self._run({}, 0, None, _PUSHING)
        due = self._wanted if waits else self._wanted[: len(self._results)]
        if self._results != due:
            raise DifferenceError(f"port must have brought {due}, not {self._results}")
        if waits:
            self._results, self._wanted = [], []

    def _run(
        self,
        inputs: Mapping[str, bytes | np.ndarray],
        room: int,
        stop: Stop | None,
        cycles: int,
    ) -> bytes:
        rooms = {"o": room}
        if self._sends:
            rooms["o_data"] = _BEATS
        try:
            run = self._unit.run(
                inputs,
                rooms,
                stop=stop,
                max_cycles=cycles,
                idle={name: self._random.choice(_CHANCES) for name in inputs},
                stall=self._random.choice(_CHANCES),
                seed=self._random.getrandbits(32),
            )
        except DeadlockError as unfinished:
            run = unfinished.run
        self._to_device = self._to_device[run.consumed.get("i", 0) :]
        self._port = self._port[run.consumed.get("i_data", 0) :]
        if "o_data" in run.outputs:
            self._results += run.outputs["o_data"].ravel().tolist()
        return run.outputs["o"].tobytes()

"""Transports that misbehave, around the golden model."""

import sys
from collections.abc import Container, Mapping

from adagrain.host.link.transport.golden import GoldenTransport
from adagrain.models.interface.configuration import Configuration
from adagrain.sim.virtual_board.faulty_line import Fault, FaultyLine


class LossyTransport(GoldenTransport):
    """A faulty line each way."""

    def __init__(
        self, configuration: Configuration, *, chances: Mapping[Fault, float], seed: int
    ) -> None:
        super().__init__(configuration)
        self.there = FaultyLine(chances, seed)
        self.back = FaultyLine(chances, ~seed)

    def send(self, raw: bytes) -> None:
        super().send(self.there.carry(raw))

    def receive(self, frames: int, timeout: float) -> bytes:
        return self.back.carry(super().receive(frames, timeout))

    def happened(self, fault: Fault) -> int:
        """Times that a fault did happen, both ways."""
        return self.there.happened[fault] + self.back.happened[fault]


class ForgetfulTransport(GoldenTransport):
    """The device is reset in front of some calls of :meth:`send`: those, and each ``every``-th."""

    def __init__(
        self, configuration: Configuration, *, every: int = sys.maxsize, at: Container[int] = ()
    ) -> None:
        super().__init__(configuration)
        self.every = every
        self._at = at
        self._sent = 0

    def send(self, raw: bytes) -> None:
        self._sent += 1
        if self._sent % self.every == 0 or self._sent in self._at:
            self._model.reset()
        super().send(raw)


class DyingTransport(GoldenTransport):
    """Answers nothing after the first ``answers`` calls of :meth:`receive`."""

    def __init__(self, configuration: Configuration, *, answers: int) -> None:
        super().__init__(configuration)
        self._left = answers

    def receive(self, frames: int, timeout: float) -> bytes:
        self._left -= 1
        return super().receive(frames, timeout) if self._left >= 0 else b""


class BreakingTransport(GoldenTransport):
    """Raises an error of its own after the first ``answers`` calls of :meth:`receive`, for ever."""

    def __init__(self, configuration: Configuration, *, answers: int, error: Exception) -> None:
        super().__init__(configuration)
        self._left = answers
        self._error = error

    def receive(self, frames: int, timeout: float) -> bytes:
        self._left -= 1
        if self._left < 0:
            raise self._error
        return super().receive(frames, timeout)

    def close(self) -> None:
        if self._left < 0:
            raise self._error

"""Transports that misbehave, around the golden model."""

import random

from adagrain.host.transport.golden import GoldenTransport
from adagrain.models.configuration import Configuration


class LossyTransport(GoldenTransport):
    """Drops, damages and repeats frames, both ways, with the given chance each."""

    def __init__(self, configuration: Configuration, *, chance: float, seed: int) -> None:
        super().__init__(configuration)
        self.chance = chance
        self._random = random.Random(seed)

    def send(self, octets: bytes) -> None:
        for frame in octets.split(b"\0")[:-1]:
            super().send(self._spoilt(frame + b"\0"))

    def receive(self, frames: int, timeout: float) -> bytes:
        arrived = super().receive(frames, timeout)
        return b"".join(self._spoilt(frame + b"\0") for frame in arrived.split(b"\0")[:-1])

    def _spoilt(self, frame: bytes) -> bytes:
        if self._random.random() >= self.chance:
            return frame
        at = self._random.randrange(len(frame))
        changed = frame[:at] + bytes([self._random.randrange(256)]) + frame[at + 1 :]
        return self._random.choice([b"", changed, frame + frame, frame[:at]])


class ForgetfulTransport(GoldenTransport):
    """The device is reset in front of every ``every``-th call of :meth:`send`."""

    def __init__(self, configuration: Configuration, *, every: int) -> None:
        super().__init__(configuration)
        self.every = every
        self._sent = 0

    def send(self, octets: bytes) -> None:
        self._sent += 1
        if self._sent % self.every == 0:
            self._model.reset()
        super().send(octets)


class DyingTransport(GoldenTransport):
    """Answers nothing after the first ``answers`` calls of :meth:`receive`."""

    def __init__(self, configuration: Configuration, *, answers: int) -> None:
        super().__init__(configuration)
        self._left = answers

    def receive(self, frames: int, timeout: float) -> bytes:
        self._left -= 1
        return super().receive(frames, timeout) if self._left >= 0 else b""

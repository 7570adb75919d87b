"""Random frames for a link: sound, repeated, out of order, foreign, damaged."""

import random
import zlib
from collections.abc import Callable

from cobs import cobs

from adagrain.models.interface.configuration import Configuration
from adagrain.models.interface.units.system import SystemOpcode
from adagrain.models.link import CHECKSUM_SIZE, encode_frame

__all__ = ["Traffic"]

#: Runs without a zero around the longest COBS block.
BLOCK_LENGTHS = (0, 1, *range(235, 262))


class Traffic:
    """A host that makes every mistake, and a pipe that makes every other.

    It keeps a session going at its own count: a request that it has sent undamaged counts as
    executed, so that its next one is the one that the device expects.

    Parameters
    ----------
    configuration : Configuration
        What the device is built with.
    generator : random.Random
        Source of all choices.
    request : callable or None
        Where opcodes and payloads come from; ``None``: any, payloads hard to encode.
    """

    def __init__(
        self,
        configuration: Configuration,
        generator: random.Random,
        request: Callable[[], tuple[int, bytes]] | None = None,
    ) -> None:
        self._longest = configuration.payload
        self._window = configuration.window
        self._random = generator
        self._request = request or (lambda: (self._opcode(), self._payload()))
        self._session = 0
        self._next = 0
        self._kinds: dict[Callable[[], bytes], int] = {
            self.command: 20,
            self._repeat: 6,
            self._gap: 3,
            self._foreign: 2,
            self.hello: 1,
            self._repeated_hello: 2,
            self._wrong_hello: 2,
            self._damaged: 6,
            self._merged: 2,
            self._too_long: 2,
            self._wrong_length: 2,
            self._garbage: 2,
            self._delimiters: 1,
        }

    def frames(self, count: int) -> list[bytes]:
        """That many chunks of input, each a frame or what became of one."""
        kinds, weights = list(self._kinds), list(self._kinds.values())
        return [kind() for kind in self._random.choices(kinds, weights, k=count)]

    def hello(self) -> bytes:
        """A new session."""
        self._session = self._random.randrange(1, 1 << 32)
        self._next = 1
        return encode_frame(self._session, 0, SystemOpcode.HELLO)

    def command(self) -> bytes:
        """The request whose turn it is."""
        frame = encode_frame(self._session, self._next, *self._request())
        if self._session:
            self._next = (self._next + 1) & 0xFFFF
        return frame

    def _short_request(self) -> tuple[int, bytes]:
        opcode, payload = self._request()
        return opcode, payload[:20]

    def _opcode(self) -> int:
        return self._random.randrange(1, 256)

    def _payload(self) -> bytes:
        lengths = [n for n in (*BLOCK_LENGTHS, self._longest) if n <= self._longest]
        length = self._random.choice([self._random.randrange(self._longest), *lengths])
        kind = self._random.randrange(4)
        if kind == 0:
            return bytes(length)
        if kind == 1:
            return self._random.randbytes(length).replace(b"\0", b"\1")
        if kind == 2:
            return bytes(self._random.choices([0, 1], [1, 200], k=length))
        return self._random.randbytes(length)

    def _at(self, offset: int) -> bytes:
        sequence = (self._next + offset) & 0xFFFF
        return encode_frame(self._session, sequence, *self._short_request())

    def _repeat(self) -> bytes:
        return self._at(-self._random.randrange(1, self._window + 3))

    def _gap(self) -> bytes:
        return self._at(self._random.randrange(1, 0x8000))

    def _foreign(self) -> bytes:
        session = self._random.choice([0, self._session ^ 1, self._session ^ 1 << 31])
        return encode_frame(session, self._next, *self._short_request())

    def _repeated_hello(self) -> bytes:
        return encode_frame(self._session, 0, SystemOpcode.HELLO)

    def _wrong_hello(self) -> bytes:
        fresh = self._random.randrange(1, 1 << 32)
        return self._random.choice(
            [
                encode_frame(0, 0, SystemOpcode.HELLO),
                encode_frame(fresh, 1, SystemOpcode.HELLO),
                encode_frame(fresh, 0x8000, SystemOpcode.HELLO),
                encode_frame(fresh, 0, SystemOpcode.HELLO, b"x"),
            ]
        )

    def _damaged(self) -> bytes:
        frame = bytearray(self._at(0))
        position = self._random.randrange(len(frame) - 1)
        damage = self._random.randrange(4)
        if damage == 0:
            frame[position] ^= 1 << self._random.randrange(8)
        elif damage == 1:
            del frame[position : position + self._random.randrange(1, 5)]
            frame += b"\0"
        elif damage == 2:
            frame.insert(position, self._random.randrange(256))
        else:
            frame = frame[:position] + b"\0"
        return bytes(frame)

    def _merged(self) -> bytes:
        return self._at(0)[:-1] + self._at(0)

    def _too_long(self) -> bytes:
        excess = self._random.choice([1, 2, CHECKSUM_SIZE, CHECKSUM_SIZE + 1, 2 * self._longest])
        payload = self._random.randbytes(self._longest + excess)
        return encode_frame(self._session, self._next, self._opcode(), payload)

    def _wrong_length(self) -> bytes:
        body = cobs.decode(self._at(0)[:-1])[:-CHECKSUM_SIZE]
        body = self._random.choice([body + b"x", body[:9] + bytes([body[9] ^ 0x80]), body + b"\0"])
        return cobs.encode(body + zlib.crc32(body).to_bytes(CHECKSUM_SIZE, "little")) + b"\0"

    def _garbage(self) -> bytes:
        return self._random.randbytes(self._random.randrange(1, 60)) + b"\0"

    def _delimiters(self) -> bytes:
        return bytes(self._random.randrange(1, 5))

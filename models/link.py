"""Frames of the link, and the twin of its device side.

The host's driver uses :func:`encode_frame` and :func:`decode_frame`; ``docs/link.md`` tells
the rules that :class:`LinkModel` and the gateware both follow.
"""

import enum
import struct
import zlib
from collections import deque
from collections.abc import Callable
from typing import NamedTuple

from cobs import cobs

from adagrain.models.interface.units.system import SystemOpcode

from .interface.configuration import Configuration
from .interface.protocol import Header, Status
from .interface.units.system import LINK

__all__ = [
    "CHECKSUM_SIZE",
    "COUNTERS",
    "HEADER_SIZE",
    "NO_SESSION",
    "Frame",
    "FrameCheck",
    "FrameError",
    "LinkModel",
    "decode_frame",
    "encode_frame",
]

HEADER_SIZE = Header.size // 8
CHECKSUM_SIZE = 4

#: The session number that no session has.
NO_SESSION = 0

#: What a device counts, by the names of its registers; modulo 2**16.
COUNTERS = tuple(register.name for register in LINK.registers)

_header = struct.Struct("<" + "".join({8: "B", 16: "H", 32: "I"}[f.width] for _, f in Header))
_checksum = struct.Struct("<I")


class FrameCheck(enum.IntEnum):
    """Findings of a receiver about a frame; of several, the first in this order."""

    INTACT = 0
    DAMAGED = 1  #: not COBS, or too short for header and checksum
    WRONG_CHECKSUM = 2
    TOO_LONG = 3  #: the checksum holds, but the payload exceeds the receiver's longest
    WRONG_LENGTH = 4  #: the checksum holds, but the header names another length


#: Statuses of the refusals of frames that are sound but for these findings.
REFUSED_CHECKS = {
    FrameCheck.TOO_LONG: Status.OVERFLOW,
    FrameCheck.WRONG_LENGTH: Status.BAD_LENGTH,
}


class Frame(NamedTuple):
    """Content of a frame; the fields are the arguments of :func:`encode_frame`."""

    session: int
    sequence: int
    opcode: int
    payload: bytes = b""
    status: int = 0


class FrameError(ValueError):
    """Bytes between two delimiters are no intact frame.

    Parameters
    ----------
    check : FrameCheck
        What is wrong with them; never ``INTACT``.
    length : int
        How many they are.
    """

    def __init__(self, check: FrameCheck, length: int) -> None:
        reason = check.name.lower().replace("_", " ")
        super().__init__(f"frame of {length} bytes must be intact, but it is: {reason}")
        self.check = check


def encode_frame(
    session: int, sequence: int, opcode: int, payload: bytes = b"", status: int = 0
) -> bytes:
    """The bytes of a frame, with the delimiter that ends it.

    Raises
    ------
    struct.error
        If a field does not fit the header: ``session`` has 32 bits, ``sequence`` and the
        payload's length 16, ``opcode`` and ``status`` 8.
    """
    body = _header.pack(session, sequence, opcode, status, len(payload)) + payload
    return cobs.encode(body + _checksum.pack(zlib.crc32(body))) + b"\0"


def decode_frame(raw: bytes) -> Frame:
    """The contents of a frame, given without its delimiter.

    Raises
    ------
    FrameError
        If the frame is not intact; its ``check`` says why.
    """
    check, frame = _check(raw, longest=0xFFFF)
    if frame is None or check:
        raise FrameError(check, len(raw))
    return frame


def _check(raw: bytes, longest: int) -> tuple[FrameCheck, Frame | None]:
    """The finding, and the frame where its header can be trusted."""
    try:
        decoded = cobs.decode(raw)
    except cobs.DecodeError:
        return FrameCheck.DAMAGED, None
    if len(decoded) < HEADER_SIZE + CHECKSUM_SIZE:
        return FrameCheck.DAMAGED, None
    body = decoded[:-CHECKSUM_SIZE]
    if _checksum.pack(zlib.crc32(body)) != decoded[-CHECKSUM_SIZE:]:
        return FrameCheck.WRONG_CHECKSUM, None
    session, sequence, opcode, status, length = _header.unpack_from(body)
    frame = Frame(session, sequence, opcode, body[HEADER_SIZE:], status)
    if len(frame.payload) > longest:
        return FrameCheck.TOO_LONG, frame
    if len(frame.payload) != length:
        return FrameCheck.WRONG_LENGTH, frame
    return FrameCheck.INTACT, frame


class LinkModel:
    """Golden model of :class:`adagrain.hdl.link.Link`, byte for byte.

    Parameters
    ----------
    configuration : Configuration
        Its ``payload`` and ``window`` matter here.
    execute : callable
        Takes ``opcode ‖ payload``, returns ``status ‖ payload``; called once for every numbered
        request. It may read :attr:`counters`: the request at hand is already in them.

    Members
    -------
    counters : dict of str to int
        What was counted since reset, by the names in :data:`COUNTERS`, modulo 2**16.
    """

    def __init__(self, configuration: Configuration, execute: Callable[[bytes], bytes]) -> None:
        self._longest = configuration.payload
        self._window = configuration.window
        self._execute = execute
        self.reset()

    def reset(self) -> None:
        """Power-on state: no session, nothing received, all counters 0."""
        self.counters = dict.fromkeys(COUNTERS, 0)
        self._partial = b""
        self._session = NO_SESSION
        self._expected = 0
        self._kept: deque[Frame] = deque(maxlen=self._window)

    def receive(self, raw: bytes) -> bytes:
        """Answer to bytes from the host, which may split frames anywhere."""
        *frames, self._partial = (self._partial + raw).split(b"\0")
        return b"".join(encode_frame(*self._answer(frame)) for frame in frames if frame)

    def _answer(self, raw: bytes) -> Frame:
        check, frame = _check(raw, self._longest)
        if frame is None:
            self._count("bad_crc" if check == FrameCheck.WRONG_CHECKSUM else "bad_frame")
            return Frame(self._session, self._expected, 0, status=Status.BAD_CRC)
        if check != FrameCheck.INTACT:
            self._count("bad_frame")
            return _refusal(frame, REFUSED_CHECKS[check])
        self._count("frames")
        return self._hello(frame) if frame.opcode == SystemOpcode.HELLO else self._command(frame)

    def _hello(self, frame: Frame) -> Frame:
        if frame.payload:
            return _refusal(frame, Status.BAD_LENGTH)
        if frame.sequence != 0 or frame.session == NO_SESSION:
            return _refusal(frame, Status.BAD_VALUE)
        if frame.session == self._session:
            return self._recall(frame)
        self._count("sessions")
        self._session = frame.session
        self._expected = 0
        self._kept.clear()
        return self._run(frame)

    def _command(self, frame: Frame) -> Frame:
        if self._session == NO_SESSION or frame.session != self._session:
            self._count("no_session")
            return _refusal(frame, Status.NO_SESSION)
        return self._run(frame) if frame.sequence == self._expected else self._recall(frame)

    def _run(self, frame: Frame) -> Frame:
        result = self._execute(bytes([frame.opcode]) + frame.payload)
        status, payload = result[0], result[1:]
        if len(payload) > self._longest:
            raise ValueError(f"reply must have at most {self._longest} bytes, not {len(payload)}")
        reply = frame._replace(payload=payload, status=status)
        self._expected = (self._expected + 1) & 0xFFFF
        self._kept.append(reply)
        return reply

    def _recall(self, frame: Frame) -> Frame:
        age = (self._expected - frame.sequence) & 0xFFFF
        if 1 <= age <= len(self._kept):
            self._count("repeats")
            return self._kept[-age]
        self._count("out_of_order")
        return _refusal(frame, Status.OUT_OF_ORDER)._replace(sequence=self._expected)

    def _count(self, name: str) -> None:
        self.counters[name] = (self.counters[name] + 1) & 0xFFFF


def _refusal(frame: Frame, status: Status) -> Frame:
    return frame._replace(payload=b"", status=status)

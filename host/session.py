"""The host's end of the link: one session, a window of commands, repeats until answered."""

import random
import time
from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import dataclass

from adagrain.models.link import Frame, FrameError, decode_frame, encode_frame
from adagrain.models.protocol import Opcode, Status

from .errors import CommandError, DeviceTimeoutError
from .transport.base import Transport

__all__ = ["Request", "Session", "SessionLostError"]


class SessionLostError(Exception):
    """The device no longer knows the session: it was reset, or somebody else opened one."""


@dataclass(frozen=True)
class Request:
    """One command: an operation and its payload."""

    opcode: Opcode
    payload: bytes = b""


class Session:
    """Numbered commands over a transport, each executed once and answered in order.

    Damaged, lost and repeated frames cost time only: what was not answered is sent again, and
    the device answers what it has executed before from its memory.

    Parameters
    ----------
    transport : Transport
        Way to the device.
    window : int
        Commands in flight.
    timeout : float
        Seconds to wait for an answer before sending again.
    retries : int
        After ``(retries + 1) × timeout`` seconds without any progress it gives up.
    """

    def __init__(self, transport: Transport, *, window: int, timeout: float, retries: int) -> None:
        self._transport = transport
        self._window = window
        self._timeout = timeout
        self._retries = retries
        self._id = 0
        self._next = 0
        self._partial = b""
        self.counters: Counter[str] = Counter(
            commands=0, resent=0, deadline_misses=0, damaged_replies=0
        )

    def open(self) -> None:
        """Open a new session; what the old one had in flight is forgotten."""
        self._id = random.SystemRandom().randrange(1, 1 << 32)
        self._next = 0
        self._partial = b""
        self.call([Request(Opcode.HELLO)])

    def call(self, requests: Sequence[Request]) -> list[bytes]:
        """Execute commands in order; their replies' payloads.

        Raises
        ------
        DeviceTimeoutError
            If the device does not answer.
        SessionLostError
            If the device does not know the session.
        CommandError
            If the device refuses one of the commands; those behind it were executed all the same.
        """
        waiting = deque(self._number(request) for request in requests)
        flight: deque[tuple[int, bytes]] = deque()
        replies: list[Frame] = []
        last_progress = time.monotonic()
        while waiting or flight:
            self._fill(waiting, flight)
            arrived, repeat = self._arrivals(flight)
            replies += arrived
            if arrived:
                last_progress = time.monotonic()
            elif time.monotonic() - last_progress > self._timeout * (self._retries + 1):
                self.counters["deadline_misses"] += 1
                raise DeviceTimeoutError(
                    f"no answer from {self._transport.backend} to command {flight[0][0]} "
                    f"after {self._retries} repeats of {self._timeout:g} s"
                )
            if repeat or not arrived:
                self._resend(flight)
        return [
            self._payload(request, reply) for request, reply in zip(requests, replies, strict=True)
        ]

    def _number(self, request: Request) -> tuple[int, bytes]:
        sequence = self._next
        self._next = (self._next + 1) & 0xFFFF
        self.counters["commands"] += 1
        frame = encode_frame(self._id, sequence, request.opcode, request.payload)
        return sequence, frame

    def _fill(self, waiting: deque[tuple[int, bytes]], flight: deque[tuple[int, bytes]]) -> None:
        while waiting and len(flight) < self._window:
            flight.append(waiting.popleft())
            self._transport.send(flight[-1][1])

    def _resend(self, flight: deque[tuple[int, bytes]]) -> None:
        for _, frame in flight:
            self._transport.send(frame)
            self.counters["resent"] += 1

    def _arrivals(self, flight: deque[tuple[int, bytes]]) -> tuple[list[Frame], bool]:
        """Replies to the oldest commands in flight, which leave it; none after the deadline.

        Also whether the device, or a damaged reply, asks for a repeat of the others.
        """
        deadline = time.monotonic() + self._timeout
        while flight:
            left = deadline - time.monotonic()
            octets = self._transport.receive(len(flight), max(left, 0.0))
            *frames, self._partial = (self._partial + octets).split(b"\0")
            accepted, repeat = self._accept([f for f in frames if f], flight)
            if accepted or repeat or left <= 0:
                return accepted, repeat
        return [], False

    def _accept(
        self, frames: Sequence[bytes], flight: deque[tuple[int, bytes]]
    ) -> tuple[list[Frame], bool]:
        accepted = []
        repeat = False
        for octets in frames:
            try:
                frame = decode_frame(octets)
            except FrameError:
                self.counters["damaged_replies"] += 1
                repeat = True
                continue
            if frame.status == Status.NO_SESSION and frame.session == self._id:
                raise SessionLostError
            if frame.status in (Status.BAD_CRC, Status.OUT_OF_ORDER):
                repeat = True
            elif flight and (frame.session, frame.sequence) == (self._id, flight[0][0]):
                flight.popleft()
                accepted.append(frame)
        return accepted, repeat

    def _payload(self, request: Request, reply: Frame) -> bytes:
        if reply.status != Status.OK:
            raise CommandError(
                f"{request.opcode.name} was refused by {self._transport.backend}: "
                f"{Status(reply.status).name}"
            )
        return reply.payload

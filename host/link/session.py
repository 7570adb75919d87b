"""The host's end of the link: one session, a window of commands, repeats until answered."""

import enum
import random
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from adagrain.host.errors import CommandError, DeviceTimeoutError, UnitResetError
from adagrain.models.interface.protocol import Status
from adagrain.models.interface.units import unit_of
from adagrain.models.interface.units.system import SystemOpcode
from adagrain.models.link import Frame, FrameError, decode_frame, encode_frame

from .flight import Flight
from .frame_size import FrameSize
from .transport.base import Transport

__all__ = ["Request", "Session", "SessionLostError"]

#: An answer is overdue after so many times the usual wait, and never before so many seconds.
_PATIENCE, _LEAST_PATIENCE = 4.0, 0.05

#: A session is given up for a frame that was repeated so often, and is much too long.
_REPEATS = 16

#: What is left of a long wait's influence after each answer.
_FORGETTING = 0.95


class SessionLostError(Exception):
    """The session cannot go on: the message says why; another one can."""


@dataclass(frozen=True)
class Request:
    """One command: an operation and its payload."""

    opcode: enum.IntEnum
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
    payload : int
        Bytes of the longest payload.
    timeout : float
        Most seconds to wait for an answer before sending again; fewer, once answers have shown
        how long they take.
    retries : int
        After ``(retries + 1) × timeout`` seconds without any progress, and so many repeats, it
        gives up: not where this process did not run for a while, and asked for nothing.

    Members
    -------
    transport : Transport
        Way to the device; :meth:`move` puts another in its place.
    frame_size : FrameSize
        Which payloads suit the line.
    """

    def __init__(
        self, transport: Transport, *, window: int, payload: int, timeout: float, retries: int
    ) -> None:
        self._window = window
        self._payload_limit = payload
        self._timeout = timeout
        self._retries = retries
        self._id = 0
        self._next = 0
        self.move(transport)
        self.counters: Counter[str] = Counter(
            commands=0, resent=0, deadline_misses=0, damaged_replies=0
        )

    def move(self, transport: Transport) -> None:
        """Go on with another device, of the same configuration; a session is to be opened on it."""
        self.transport = transport
        self._patience = self._timeout
        self._partial = b""
        self.frame_size = FrameSize(self._payload_limit)

    def open(self, retries: int | None = None) -> None:
        """Open a new session; what the old one had in flight is forgotten.

        Parameters
        ----------
        retries : int or None
            Where the device will hardly answer: so many, if these are fewer than usual.
        """
        self._id = random.SystemRandom().randrange(1, 1 << 32)
        self._next = 0
        self._partial = b""
        fewer = self._retries if retries is None else min(retries, self._retries)
        self.call([Request(SystemOpcode.HELLO)], fewer)

    def call(self, requests: Iterable[Request], retries: int | None = None) -> list[bytes]:
        """Execute commands in order; their replies' payloads.

        Parameters
        ----------
        requests : iterable of Request
            Each is asked for when there is room for it in the window, and none behind one that is
            known to be refused.
        retries : int or None
            Another number than usual.

        Raises
        ------
        DeviceTimeoutError
            If the device does not answer.
        SessionLostError
            If the device does not know the session, or a frame is much too long for the errors of
            the line: what it holds can only be sent otherwise in another session.
        UnitResetError
            If a unit made no progress, and was reset.
        CommandError
            If the device refuses one of the commands; those that were on their way behind it were
            executed all the same.
        """
        waiting, retries = iter(requests), self._retries if retries is None else retries
        sent: list[Request] = []
        replies: list[Frame] = []
        flight = Flight()
        clock = _Patience(self.transport.now(), self._patience)
        while self._fill(waiting, sent, flight) or flight:
            raw = self.transport.receive(1, clock.left(self.transport.now()))
            due = self._take(raw, flight)
            replies += due
            if any(reply.status != Status.OK for reply in due):
                waiting = iter(())
            now = self.transport.now()
            if due:
                self._patience = self._learned(clock.progress(now, self._patience))
            elif clock.is_vain(now, retries, self._timeout):
                raise self._gave_up(flight, retries)
            elif clock.is_over(now):
                flight.overdue()
                clock.extend(now, self._timeout)
            self._send_again(flight.missing(), flight)
        return [self._payload(request, reply) for request, reply in zip(sent, replies, strict=True)]

    def _fill(self, waiting: Iterator[Request], sent: list[Request], flight: Flight) -> bool:
        """Send commands while there is room; whether one was."""
        before = len(sent)
        while len(flight) < self._window and (request := next(waiting, None)) is not None:
            frame = encode_frame(self._id, self._next, request.opcode, request.payload)
            flight.add(self._next, frame)
            sent.append(request)
            self._send(frame)
            self._next = (self._next + 1) & 0xFFFF
            self.counters["commands"] += 1
        return len(sent) > before

    def _send(self, frame: bytes) -> None:
        self.transport.send(frame)
        self.frame_size.sent(len(frame))

    def _send_again(self, frames: Sequence[bytes], flight: Flight) -> None:
        for frame in frames:
            self._send(frame)
            self.counters["resent"] += 1
        if flight.repeats >= _REPEATS and len(flight.frame) > 2 * self.frame_size.frame:
            raise SessionLostError(
                f"a frame of {len(flight.frame)} bytes did not get through {_REPEATS} times"
            )

    def _take(self, raw: bytes, flight: Flight) -> list[Frame]:
        """Answers that are due after bytes from the device."""
        *frames, self._partial = (self._partial + raw).split(b"\0")
        due: list[Frame] = []
        for frame in filter(None, frames):
            try:
                due += self._match(decode_frame(frame), flight)
            except FrameError:
                self.counters["damaged_replies"] += 1
                self.frame_size.lost()
                flight.unreadable()
        return due

    def _match(self, reply: Frame, flight: Flight) -> list[Frame]:
        if reply.status in (Status.BAD_CRC, Status.OUT_OF_ORDER):
            self._go_back(reply, flight)
            return []
        if reply.session != self._id:
            return []
        if reply.status == Status.NO_SESSION:
            raise SessionLostError("the device does not know the session")
        if not flight.awaits(reply.sequence):  # it was sent again in vain: patience was too short
            self._patience = min(self._timeout, 2 * self._patience)
        return flight.answered(reply)

    def _go_back(self, refusal: Frame, flight: Flight) -> None:
        """Send all from a command on that the device lacks; it would refuse what is on its way."""
        if not flight.refused(refusal.sequence):
            return
        self.frame_size.lost()
        if self.transport.abandon():
            flight.cut()
        self._send_again(flight.back_to(refusal.sequence), flight)

    def _learned(self, wait: float) -> float:
        """Time to wait from now on, after an answer that took so long."""
        usual = max(wait * _PATIENCE, self._patience * _FORGETTING)
        return min(self._timeout, max(_LEAST_PATIENCE, usual))

    def _gave_up(self, flight: Flight, retries: int) -> DeviceTimeoutError:
        self.counters["deadline_misses"] += 1
        return DeviceTimeoutError(
            f"no answer from {self.transport.backend} to command {flight.oldest} "
            f"after {retries} repeats of {self._timeout:g} s"
        )

    def _payload(self, request: Request, reply: Frame) -> bytes:
        if reply.status == Status.UNIT_RESET:
            raise UnitResetError(
                f"{_command(request.opcode)} made no progress, and its unit was reset"
            )
        if reply.status != Status.OK:
            raise CommandError(
                f"{_command(request.opcode)} was refused by {self.transport.backend}: "
                f"{_name(reply.status)}"
            )
        return reply.payload


def _command(opcode: enum.IntEnum) -> str:
    unit = unit_of(opcode)
    return f"{opcode.name} of {unit.name}" if unit else opcode.name


def _name(status: int) -> str:
    known = {member.value: member.name for member in Status}
    return known.get(status, f"status {status}, which this driver does not know")


class _Patience:
    """Deadline of answers, in the transport's seconds."""

    def __init__(self, now: float, patience: float) -> None:
        self._last_progress = now
        self._patience = patience
        self._deadline = now + patience
        self._extensions = 0

    def left(self, now: float) -> float:
        return max(0.0, self._deadline - now)

    def is_over(self, now: float) -> bool:
        return now >= self._deadline

    def is_vain(self, now: float, retries: int, timeout: float) -> bool:
        """True if so many waits of so many seconds have brought nothing, and one more."""
        waited = now - self._last_progress > timeout * (retries + 1)
        return waited and self._extensions >= retries

    def progress(self, now: float, patience: float) -> float:
        """An answer came; how long it took, or 0 where that is not known after repeats."""
        took = 0.0 if self._extensions else now - self._last_progress
        self._extensions = 0
        self._last_progress = now
        self._patience = patience
        self._deadline = now + patience
        return took

    def extend(self, now: float, longest: float) -> None:
        """Wait anew, and for twice as long."""
        self._extensions += 1
        self._patience = min(2 * self._patience, longest)
        self._deadline = now + self._patience

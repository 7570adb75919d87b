"""One end of a session, on a line whose clock and losses the test decides."""

import itertools
from collections.abc import Callable

import numpy as np
import pytest

from adagrain.host.errors import DeviceTimeoutError
from adagrain.host.link.frame_size import OVERHEAD
from adagrain.host.link.session import Request, Session, SessionLostError
from adagrain.models.interface.protocol import Status
from adagrain.models.interface.units.system import SystemOpcode
from adagrain.models.interface.units.tensor_input import BEAT
from adagrain.models.link import decode_frame, encode_frame


class Line:
    """A device that echoes, so many seconds away, unless a frame is lost on its way there.

    Parameters
    ----------
    is_lost : callable
        Asked for each frame, with its number from 0 on.
    delay : float
        Seconds from a frame to its answer.
    """

    backend = "echo"
    data_port = False

    def __init__(self, is_lost: Callable[[int], bool], delay: float = 0.01) -> None:
        self._is_lost, self._delay = is_lost, delay
        self._now, self._count = 0.0, 0
        self._due: list[tuple[float, bytes]] = []
        self.sent: list[tuple[float, int]] = []  # when, and which command

    def send(self, raw: bytes) -> None:
        frame = decode_frame(raw[:-1])
        self.sent.append((self._now, frame.sequence))
        if not self._is_lost(self._count):
            answer = frame._replace(status=Status.OK)
            self._due.append((self._now + self._delay, encode_frame(*answer)))
        self._count += 1

    def receive(self, frames: int, timeout: float) -> bytes:
        until = self._now + timeout
        if not self._due or self._due[0][0] > until:
            self._now = until
            return b""
        self._now, raw = self._due.pop(0)
        return raw

    def abandon(self) -> bool:
        return False

    def now(self) -> float:
        return self._now

    def load(self, words: np.ndarray) -> None:
        raise NotImplementedError

    def results(self) -> np.ndarray:
        raise NotImplementedError

    def close(self) -> None:
        pass


def session_on(line: Line, *, window: int = 4) -> Session:
    session = Session(line, window=window, payload=256, timeout=1.0, retries=3)
    session.open()
    return session


@pytest.mark.parametrize("window", [1, 3, 8])
def test_sequences_go_on_from_0_after_65535(window: int) -> None:
    line = Line(lambda number: False)
    session = session_on(line, window=window)
    session._next = 65530
    requests = [Request(SystemOpcode.ECHO, bytes([number])) for number in range(12)]
    assert session.call(requests) == [bytes([number]) for number in range(12)]
    assert [sequence for _, sequence in line.sent[1:]] == [*range(65530, 65536), *range(6)]


def test_commands_and_repeats_are_counted() -> None:
    session = session_on(Line(lambda number: number == 2))
    session.call([Request(SystemOpcode.ECHO, bytes([number])) for number in range(4)])
    counted = {"commands": 5, "resent": 1, "deadline_misses": 0, "damaged_replies": 0}
    assert session.counters == counted


def waits(line: Line) -> list[float]:
    """Seconds between a command and its first repeat, of those that were repeated."""
    found = []
    for _, sends in itertools.groupby(line.sent, key=lambda send: send[1]):
        first, *repeats = (when for when, _ in sends)
        found += [repeats[0] - first] if repeats else []
    return found


def test_an_answer_after_a_repeat_does_not_tell_how_long_answers_take() -> None:
    """It may be that of either frame: patience does not grow by it, call after call."""
    lost = range(100, 120, 2)
    line = Line(lambda number: number in lost)
    session = session_on(line)
    for _ in range(110):
        session.call([Request(SystemOpcode.ECHO)])
    found = waits(line)
    assert len(found) == len(lost)
    assert all(wait == pytest.approx(0.05) for wait in found)


def test_patience_follows_the_slowest_answers() -> None:
    """Four times the usual wait, at least a twentieth of a second, at most the time-out."""
    for delay, patience in ((0.001, 0.05), (0.1, 0.4), (0.2, 0.8), (0.5, 1.0)):
        line = Line(lambda number: number == 200, delay)
        session = session_on(line)
        for _ in range(210):
            session.call([Request(SystemOpcode.ECHO)])
        assert waits(line) == [pytest.approx(patience)]


def test_patience_doubles_up_to_the_time_out() -> None:
    line = Line(lambda number: 200 <= number < 206)
    session = session_on(line)
    for _ in range(201):
        session.call([Request(SystemOpcode.ECHO)])
    times = [when for when, sequence in line.sent if sequence == 200]
    steps = [after - before for before, after in itertools.pairwise(times)]
    assert steps == [pytest.approx(wait) for wait in (0.05, 0.1, 0.2, 0.4, 0.8, 1.0)]


def test_patience_grows_with_answers_that_came_after_all() -> None:
    """A long command behind many short ones: that it is sent again in vain is learned."""
    line = Line(lambda number: False)
    session = session_on(line)
    for _ in range(100):
        session.call([Request(SystemOpcode.ECHO)])
    line._delay = 0.3
    before = len(line.sent)
    for _ in range(50):
        session.call([Request(SystemOpcode.ECHO)])
    assert len(line.sent) - before < 50 + 20


@pytest.mark.parametrize("lost", [1, 3])
def test_a_process_that_was_suspended_asks_again(lost: int) -> None:
    """No time-out, though minutes have passed since the command: it was not repeated yet."""

    class Suspended(Line):
        def receive(self, frames: int, timeout: float) -> bytes:
            self._now += 100.0 * (len(self.sent) == 2)
            return super().receive(frames, timeout)

    line = Suspended(lambda number: 1 <= number < 1 + lost)
    assert session_on(line).call([Request(SystemOpcode.ECHO, b"x")]) == [b"x"]
    assert len(line.sent) == 2 + lost


def test_a_device_that_does_not_answer_is_asked_as_often_as_is_said() -> None:
    line = Line(lambda number: number > 0)
    session = session_on(line)
    with pytest.raises(DeviceTimeoutError, match="after 3 repeats of 1 s"):
        session.call([Request(SystemOpcode.ECHO)])
    assert len(line.sent) >= 5 and 4.0 < line.now() < 6.0


@pytest.mark.parametrize("groups, lost", [(3, False), (4, True)])
def test_a_frame_that_is_much_too_long_ends_the_session(groups: int, lost: bool) -> None:
    """More than twice as long as the best, where the line damages all; no longer: repeated on."""
    line = Line(lambda number: number > 0)
    session = session_on(line)
    session._timeout = session._patience = 0.05
    for _ in range(1000):
        session.frame_size.lost()
    longest = 2 * (BEAT + OVERHEAD)
    payload = bytes(groups * BEAT)
    frame = encode_frame(1, 1, SystemOpcode.ECHO, payload)
    assert (len(frame) > longest) is lost
    if lost:
        message = f"^a frame of {len(frame)} bytes did not get through 16 times$"
        with pytest.raises(SessionLostError, match=message):
            session.call([Request(SystemOpcode.ECHO, payload)], retries=40)
        assert len(line.sent) == 1 + 1 + 16
    else:
        with pytest.raises(DeviceTimeoutError, match=r"to command 1 after 40 repeats of 0\.05 s"):
            session.call([Request(SystemOpcode.ECHO, payload)], retries=40)


@pytest.mark.parametrize("status", [Status.BAD_CRC, Status.OUT_OF_ORDER])
def test_a_frame_that_the_device_refuses_counts_as_lost(status: Status) -> None:
    """Frames are shorter from then on."""

    class Refusing(Line):
        def send(self, raw: bytes) -> None:
            super().send(raw)
            if self._count == 2:
                refusal = decode_frame(raw[:-1])._replace(status=status, payload=b"")
                self._due[-1] = self._now + self._delay, encode_frame(*refusal)

    session = session_on(Refusing(lambda number: False))
    assert session.frame_size.payload == 256
    assert session.call([Request(SystemOpcode.ECHO, b"x")]) == [b"x"]
    assert session.counters["resent"] == 1
    assert session.frame_size.payload < 256


def test_half_a_frame_that_is_left_over_is_not_of_the_next_session() -> None:
    class Torn(Line):
        tears = False

        def receive(self, frames: int, timeout: float) -> bytes:
            raw = super().receive(frames, timeout)
            return raw[: len(raw) // 2] if self.tears else raw

    line = Torn(lambda number: False)
    session = session_on(line)
    line.tears = True
    with pytest.raises(DeviceTimeoutError):
        session.call([Request(SystemOpcode.ECHO, b"x")], retries=0)
    line.tears = False
    line._due.clear()
    session.open()
    assert session.counters["damaged_replies"] == 0


@pytest.mark.parametrize(("given", "repeats"), [(None, 3), (1, 1), (9, 3)])
def test_a_session_is_opened_with_no_more_repeats_than_usual(
    given: int | None, repeats: int
) -> None:
    session = Session(Line(lambda _: True), window=1, payload=256, timeout=1.0, retries=3)
    with pytest.raises(DeviceTimeoutError, match=f"after {repeats} repeats of 1 s"):
        session.open(given)

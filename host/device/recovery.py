"""Operations on a device that may be reset, hang, fall silent, or be left in the middle of one."""

import threading
from collections import Counter
from collections.abc import Callable
from typing import NamedTuple, TypeVar

from adagrain.host.errors import ClosedError, DeviceError, DeviceTimeoutError, UnitResetError
from adagrain.host.link.session import Session, SessionLostError
from adagrain.host.link.transport.base import Transport

__all__ = ["Recovery"]

_T = TypeVar("_T")


class _Trouble(NamedTuple):
    """What an operation is repeated after, so many times; what counts it, and what it is called."""

    error: type[Exception]
    times: int
    counter: str
    name: str


_TROUBLES = (
    _Trouble(SessionLostError, 10, "restored", "lost its session"),
    _Trouble(UnitResetError, 3, "hangs", "hung"),
)

#: How often a device is waited for once more after a break.
_RETRIES_AFTER_BREAK = 1


class Recovery:
    """Runs operations one at a time, each to its end, whatever the device does.

    Before an operation that follows one which did not end well, and before each repeat, a session
    is opened and the device given what it must know. An operation is repeated where the device
    lost its session (it was reset), where its unit hung and was reset, and, after a break, where it
    did not answer; a limited number of times each. Any other error, and Ctrl-C, leave the next
    operation to set things right.

    Threads wait for each other: ``with recovery:`` keeps the others out for longer than an
    operation, and finds out whether the device is still open. It does not know what operations are.

    Parameters
    ----------
    transport : Transport
        Way to the device.
    session : Session
        The session on it; opened by the first operation.
    restore : callable
        Gives the device what it must know, in a new session.

    Members
    -------
    counters : Counter
        ``restored``: sessions that the device lost. ``hangs``: units that hung. ``breaks_sent``.
    """

    def __init__(
        self, transport: Transport, session: Session, restore: Callable[[], object]
    ) -> None:
        self._transport, self._session, self._restore = transport, session, restore
        self._lock = threading.RLock()
        self._is_settled = False  # nothing of an operation that did not end is left behind
        self._is_open = True
        self.counters: Counter[str] = Counter(restored=0, hangs=0, breaks_sent=0)

    def __enter__(self) -> None:
        self._lock.acquire()
        if not self._is_open:
            self._lock.release()
            raise ClosedError(f"device must be open, but {self._transport.backend} was closed")

    def __exit__(self, *_: object) -> None:
        self._lock.release()

    def run(self, operation: Callable[[], _T]) -> _T:
        """What an operation returns; the last thing that it does changes the driver, if any does.

        Raises
        ------
        ClosedError
            After :meth:`close`.
        DeviceError
            If the device fails in spite of repeats.
        """
        with self:
            troubles: Counter[type[Exception]] = Counter()
            silence: DeviceTimeoutError | None = None
            while True:
                try:
                    return self._attempt(operation, after_break=silence is not None)
                except DeviceTimeoutError as error:
                    if silence is not None:
                        raise DeviceTimeoutError(f"{silence}, nor after a break") from None
                    silence = error
                    self._transport.send_break()
                    self.counters["breaks_sent"] += 1
                except tuple(trouble.error for trouble in _TROUBLES) as error:
                    troubles[type(error)] += 1
                    self._count(error, troubles[type(error)])

    def close(self) -> None:
        """Let go of the device; may be called twice."""
        with self._lock:
            self._is_open = False
            self._transport.close()

    def _attempt(self, operation: Callable[[], _T], *, after_break: bool) -> _T:
        if not self._is_settled:
            self._session.open(retries=_RETRIES_AFTER_BREAK if after_break else None)
            self._restore()
        self._is_settled = False
        result = operation()
        self._is_settled = True
        return result

    def _count(self, error: Exception, times: int) -> None:
        trouble = next(trouble for trouble in _TROUBLES if trouble.error is type(error))
        self.counters[trouble.counter] += 1
        if times == trouble.times:
            backend = self._transport.backend
            raise DeviceError(
                f"{backend} {trouble.name} {times} times in one call: {error}"
            ) from None

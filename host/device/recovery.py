"""Operations on a device that may be reset, hang, fall silent, be left in the middle, or fail."""

import logging
import os
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import NamedTuple, TypeVar

from adagrain.host.errors import (
    ClosedError,
    CommandError,
    DeviceError,
    DeviceTimeoutError,
    UnitResetError,
)
from adagrain.host.link.session import Session, SessionLostError
from adagrain.host.link.transport.base import Transport

__all__ = ["Recovery"]

_log = logging.getLogger("adagrain")

_T = TypeVar("_T")


class _Trouble(NamedTuple):
    """An error after which an operation is repeated: how often, its counter and its name."""

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

    A device that fails in spite of that may be replaced, for good: by what ``substitute`` connects,
    which is given what the device had to know, and the operation. So may one that refuses an
    operation, or whose transport raises anything else, unless the substitute refuses the same
    operation: then its arguments were at fault. A replacement is logged as an error, and counted.

    Threads wait for each other: ``with recovery:`` keeps the others out for longer than an
    operation, and finds out whether the device is still open. It does not know what operations are.
    A process that was forked from this one has no part in the device: operations raise
    :class:`ClosedError` there, and :meth:`close` does nothing.

    Parameters
    ----------
    session : Session
        The session on the device; opened by the first operation.
    restore : callable
        Gives the device what it must know, in a new session.
    substitute : callable or None
        Connects another device of the same configuration; ``None``: there is none.

    Members
    -------
    replaces : bool
        Whether a device that fails is replaced; not until this is set.
    counters : Counter
        ``restored``: sessions that the device lost. ``hangs``: units that hung. ``breaks_sent``.
        ``fallbacks``: devices that were replaced.
    """

    def __init__(
        self,
        session: Session,
        restore: Callable[[], object],
        substitute: Callable[[], Transport] | None = None,
    ) -> None:
        self._session, self._restore, self._substitute = session, restore, substitute
        self.replaces = False
        self._lock, self._process = threading.RLock(), os.getpid()
        self._is_settled = False  # nothing of an operation that did not end is left behind
        self._is_open = True
        names = ("restored", "hangs", "breaks_sent", "fallbacks")
        self.counters: Counter[str] = Counter(dict.fromkeys(names, 0))

    def __enter__(self) -> None:
        self._check_process()
        self._lock.acquire()
        if not self._is_open:
            self._lock.release()
            backend = self._session.transport.backend
            raise ClosedError(f"device must be open, but {backend} was closed")

    def __exit__(self, *_: object) -> None:
        self._lock.release()

    def run(self, operation: Callable[[], _T]) -> _T:
        """Run an operation; the last thing that it does changes the driver, if any does.

        Raises
        ------
        ClosedError
            After :meth:`close`, or in another process.
        DeviceError
            If the device fails in spite of repeats, and is not replaced.
        """
        with self:
            try:
                return self._persist(operation)
            except Exception as error:
                if not self.replaces or self._substitute is None:
                    raise
                return self._replaced(operation, error, self._substitute())

    @contextmanager
    def as_it_is(self) -> Iterator[None]:
        """Within, a device that fails is not replaced."""
        with self:
            replaces, self.replaces = self.replaces, False
            try:
                yield
            finally:
                self.replaces = replaces

    @property
    def others_wait(self) -> AbstractContextManager[bool]:
        """Within, no other thread runs an operation, of a device that may be closed.

        Raises
        ------
        ClosedError
            In another process.
        """
        self._check_process()
        return self._lock

    def close(self) -> None:
        """Let go of the device; may be called twice."""
        if os.getpid() != self._process:
            return  # a thread that this process does not have may hold the lock
        with self._lock:
            self._is_open = False
            self._restore, self._substitute = lambda: None, None  # which have this device
            self._session.transport.close()

    def _check_process(self) -> None:
        """Refuse a process that was forked: the lock may be held for ever there."""
        if (own := os.getpid()) != self._process:
            raise ClosedError(
                f"device must be opened in this process, {own}: it belongs to process "
                f"{self._process}"
            )

    def _persist(self, operation: Callable[[], _T]) -> _T:
        """Run an operation on this device."""
        troubles: Counter[type[Exception]] = Counter()
        silence: DeviceTimeoutError | None = None
        while True:
            try:
                return self._attempt(operation, after_break=silence is not None)
            except DeviceTimeoutError as error:
                if silence is not None:
                    raise DeviceTimeoutError(f"{silence}, nor after a break") from None
                silence = error
                self._session.transport.send_break()
                self.counters["breaks_sent"] += 1
            except tuple(trouble.error for trouble in _TROUBLES) as error:
                troubles[type(error)] += 1
                self._count(error, troubles[type(error)])

    def _replaced(self, operation: Callable[[], _T], error: Exception, substitute: Transport) -> _T:
        """Run an operation on a substitute, which stays if the device was at fault."""
        failed = self._session.transport
        self._move(substitute)
        if isinstance(error, DeviceError) and not isinstance(error, CommandError):
            self._let_go(failed, str(error))
            return self._persist(operation)
        try:
            result = self._persist(operation)
        except BaseException as refusal:  # Ctrl-C, too: which of them was at fault is not known
            self._move(failed)
            substitute.close()
            raise error if isinstance(refusal, Exception) else refusal from None
        self._let_go(failed, f"{type(error).__name__}: {error}")
        return result

    def _move(self, transport: Transport) -> None:
        self._session.move(transport)
        self._is_settled = False

    def _let_go(self, failed: Transport, reason: str) -> None:
        self.counters["fallbacks"] += 1
        _log.error(
            "DEVICE FAILED: %s. Going on with %s in its place (fallback %d).",
            reason,
            self._session.transport.backend,
            self.counters["fallbacks"],
        )
        with suppress(Exception):  # it may be beyond letting go of
            failed.close()

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
            backend = self._session.transport.backend
            raise DeviceError(
                f"{backend} {trouble.name} {times} times in one call: {error}"
            ) from None

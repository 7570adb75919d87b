"""Collectives that go wrong, from one on, on the worker that is told to."""

import datetime
import json
import os
import signal
import subprocess
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import torch.distributed as dist

__all__ = ["FAULTS", "BrokenCollectives"]

#: What is counted.
_COLLECTIVES = ("all_reduce", "all_gather", "broadcast", "all_gather_object")

_REASON = "injected: connection reset"


class BrokenCollectives:
    """Takes the place of torch.distributed's collectives.

    When it happens, a line of standard output says so, of the clock that all processes share.

    Parameters
    ----------
    fault : str
        What happens, of :data:`FAULTS`.
    at : int or None
        To which collective, counted from 0 where :meth:`arm` is called; ``None``: to none. Those
        behind it fail: the connections are gone.
    seconds : float
        The process group's time-out; where a worker is stopped, for how long.
    """

    def __init__(self, fault: str, at: int | None, seconds: float) -> None:
        self._fault, self._at, self.seconds = FAULTS[fault], at, seconds
        self._counted = 0

    def arm(self) -> None:
        """Count from now on."""
        for name in _COLLECTIVES:
            setattr(dist, name, partial(self._call, getattr(dist, name)))

    def _call(self, real: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        number, self._counted = self._counted, self._counted + 1
        begin = partial(real, *arguments, **options)
        if self._at is None or number < self._at:
            return begin()
        if number == self._at:
            print(json.dumps({"began": time.monotonic()}), flush=True)
            work = self._fault(self, begin)
        else:
            work = begin() if self._fault is _stopped else _Work()
        if isinstance(work, _Work) and not options.get("async_op"):
            work.wait()
        return work


class _Work:
    """A collective under way that fails when it is waited for.

    Parameters
    ----------
    seconds : float
        How long it is waited for; 0: it says at once that there is nothing to wait for.
    """

    def __init__(self, seconds: float = 0.0) -> None:
        self._seconds = seconds

    def is_completed(self) -> bool:
        return not self._seconds

    def wait(self, timeout: datetime.timedelta | None = None) -> bool:
        limit = self._seconds if timeout is None else timeout.total_seconds()
        time.sleep(min(limit, self._seconds))
        raise RuntimeError(_REASON)


#: What begins the true collective.
_Begin = Callable[[], Any]


def _raises(broken: BrokenCollectives, begin: _Begin) -> Any:
    raise RuntimeError(_REASON)


def _fails(broken: BrokenCollectives, begin: _Begin) -> Any:
    """Nothing reaches the others."""
    return _Work()


def _fails_behind(broken: BrokenCollectives, begin: _Begin) -> Any:
    """It reaches the others, who go on; here it fails."""
    if isinstance(work := begin(), dist.Work):
        work.wait()
    return _Work()


def _never(broken: BrokenCollectives, begin: _Begin) -> Any:
    """It completes on no worker."""
    return _Work(broken.seconds)


def _killed(broken: BrokenCollectives, begin: _Begin) -> Any:
    os.kill(os.getpid(), signal.SIGKILL)


def _killed_behind(broken: BrokenCollectives, begin: _Begin) -> Any:
    """The others have what this worker has contributed."""
    _fails_behind(broken, begin)
    os.kill(os.getpid(), signal.SIGKILL)


def _stopped(broken: BrokenCollectives, begin: _Begin) -> Any:
    with subprocess.Popen(["sh", "-c", f"sleep {broken.seconds}; kill -CONT {os.getpid()}"]):
        os.kill(os.getpid(), signal.SIGSTOP)
    return begin()


#: By name.
FAULTS: dict[str, Callable[[BrokenCollectives, _Begin], Any]] = {
    "raises": _raises,
    "fails": _fails,
    "fails_behind": _fails_behind,
    "never": _never,
    "killed": _killed,
    "killed_behind": _killed_behind,
    "stopped": _stopped,
}

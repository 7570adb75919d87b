"""Signals that end a run: one process answers for all of it."""

import multiprocessing
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import resource_tracker
from types import FrameType

from torch.distributed.elastic.multiprocessing.api import SignalException

__all__ = ["Interrupt", "answering_for_workers", "end_with_parent"]


#: Signals upon which a run ends.
_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)


class Interrupt(SignalException):
    """Ctrl-C, upon which PyTorch's machinery ends the workers with a signal that they obey."""

    def __init__(self) -> None:
        super().__init__("interrupted", sigval=signal.SIGTERM)


@contextmanager
def answering_for_workers() -> Iterator[None]:
    """Have the first signal that ends a run raise a :class:`SignalException`.

    Others are ignored from then on, behind this context too: the process is to end, and to say why.
    Ctrl-C raises :class:`Interrupt` here, and nothing in processes that are started here. A
    terminal sends it to them too, in the middle of their imports perhaps, where each would end
    with a traceback. Processes inherit what the thread that starts them blocks; another thread
    takes the signal, so that Python runs this process's handler as ever.
    """
    done = threading.Event()

    def take() -> None:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
        done.wait()

    def handle(number: int, frame: FrameType | None) -> None:
        for ending in _ENDING:
            signal.signal(ending, signal.SIG_IGN)
        if number == signal.SIGINT:
            raise Interrupt
        raise SignalException("interrupted", sigval=signal.Signals(number))

    resource_tracker.ensure_running()  # which processes need, and which lets the signal through
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    taker = threading.Thread(target=take, name="signals", daemon=True)
    taker.start()
    before = {ending: signal.signal(ending, handle) for ending in _ENDING}
    try:
        yield
    finally:
        if signal.getsignal(signal.SIGINT) is handle:
            for ending, handler in before.items():
                signal.signal(ending, handler)
        done.set()
        taker.join()
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def end_with_parent() -> None:
    """Ignore Ctrl-C for as long as there is the process that started this one.

    PyTorch has the kernel send the same signal to workers whose parent has died.
    """
    parent = multiprocessing.parent_process()

    def handle(_: int, frame: FrameType | None) -> None:
        if parent is None or os.getppid() != parent.pid:
            os._exit(128 + signal.SIGINT)

    signal.signal(signal.SIGINT, handle)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})

"""The end of a pass that has departed: where somebody waits for it, or in a thread."""

import threading
from collections.abc import Callable
from typing import Protocol

__all__ = ["Aside", "Ending", "WhenAsked"]


class Ending(Protocol):
    """Something that is done once, and may be waited for.

    Parameters
    ----------
    end : callable
        Does it.
    before : Ending or None
        What has to be done first.
    """

    def __init__(self, end: Callable[[], None], before: "Ending | None") -> None: ...

    def arrived(self) -> bool:
        """True where it is known that it has been done, or tried."""

    def wait(self) -> None:
        """See to it that it has been done. It may be called again.

        Raises
        ------
        Exception
            What it raised, or what is before it.
        """


class WhenAsked:
    """Done where it is waited for; what does it is let go of then."""

    def __init__(self, end: Callable[[], None], before: Ending | None) -> None:
        self._end: Callable[[], None] | None = end
        self._before = before
        self._error: BaseException | None = None

    def arrived(self) -> bool:
        """As :meth:`Ending.arrived`."""
        return self._end is None

    def wait(self) -> None:
        """As :meth:`Ending.wait`."""
        (before, end), self._before, self._end = (self._before, self._end), None, None
        try:
            if before is not None:
                before.wait()
            if end is not None:
                end()
        except BaseException as error:
            self._error = error
        if self._error is not None:
            raise self._error


class Aside:
    """Done in a thread of its own, which does not keep a program from ending."""

    def __init__(self, end: Callable[[], None], before: Ending | None) -> None:
        self._error: BaseException | None = None
        self._is_done = threading.Event()  # Ctrl-C in join() would have a thread count as ended
        threading.Thread(
            target=self._run, args=(end, before), name="adagrain exchange", daemon=True
        ).start()

    def arrived(self) -> bool:
        """As :meth:`Ending.arrived`."""
        return self._is_done.is_set()

    def wait(self) -> None:
        """As :meth:`Ending.wait`."""
        self._is_done.wait()
        if self._error is not None:
            raise self._error

    def _run(self, end: Callable[[], None], before: Ending | None) -> None:
        try:
            if before is not None:
                before.wait()
            end()
        except BaseException as error:
            self._error = error
        finally:
            self._is_done.set()

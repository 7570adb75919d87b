"""Time of a worker between exchanges."""

import time

__all__ = ["Stopwatch"]


class Stopwatch:
    """Measures what the worker does between the ends of exchanges.

    Members
    -------
    elsewhere : float
        Seconds from the end of an exchange until the next one is waited for: the least of all since
        the last decision, so that an evaluation in between does not count. 0 where there was none.
    """

    def __init__(self) -> None:
        self.elsewhere = 0.0
        self._ended: float | None = None

    def waits(self) -> None:
        """The worker has nothing left to do in a pass but to wait for the exchange."""
        if self._ended is not None:
            found = time.perf_counter() - self._ended
            self.elsewhere = min(self.elsewhere or found, found)

    def ends(self) -> None:
        """The pass's exchange has ended."""
        self._ended = time.perf_counter()

    def decides(self) -> None:
        """A decision has been made."""
        self.elsewhere = 0.0

"""What passes take of this worker."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["Stopwatch"]


class Stopwatch:
    """Measures coding within a pass, and what the worker does between the ends of exchanges.

    Members
    -------
    coding : float
        Seconds of this pass.
    elsewhere : float
        Seconds from the end of an exchange until the next one is waited for: the least of all since
        the last decision, so that an evaluation in between does not count. 0 where there was none.
    """

    def __init__(self) -> None:
        self.coding = 0.0
        self.elsewhere = 0.0
        self._ended: float | None = None

    @contextmanager
    def codes(self) -> Iterator[None]:
        """Add what is done within to the coding."""
        began = time.perf_counter()
        yield
        self.coding += time.perf_counter() - began

    def waits(self) -> None:
        """The worker has nothing left to do in a pass but to wait for the exchange."""
        if self._ended is not None:
            found = time.perf_counter() - self._ended
            self.elsewhere = min(self.elsewhere or found, found)

    def ends(self) -> None:
        """The pass's exchange has ended."""
        self.coding, self._ended = 0.0, time.perf_counter()

    def decides(self) -> None:
        """A decision has been made."""
        self.elsewhere = 0.0

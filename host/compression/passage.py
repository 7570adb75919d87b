"""A backward pass's exchange, from its first share until it counts."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

from adagrain.host.distributed.exchange import Share

from .ending import Ending
from .outcome import Outcome
from .under_way import Dense, Framed

__all__ = ["Passage"]


class Passage:
    """Exchanges of a pass, and how far they are.

    Parameters
    ----------
    outcome : Outcome or None
        What has become of it, where that is known.

    Members
    -------
    is_dense : bool or None
        It goes uncompressed; ``None`` before anything of a region has begun.
    is_resort : bool
        It does so only because a frame was refused.
    waiting : list of Share
        What has not been sent.
    begun : list of Framed or Dense
        What is under way.
    ending : Ending or None
        Waits for it, and finds the outcome; ``None`` before it has departed, and of nothing.
    coding : float
        Seconds that masks, frames and back have taken.
    """

    def __init__(self, outcome: Outcome | None = None) -> None:
        self.outcome = outcome
        self.is_dense: bool | None = None
        self.is_resort = False
        self.waiting: list[Share] = []
        self.begun: list[Framed | Dense] = []
        self.ending: Ending | None = None
        self.coding = 0.0

    @property
    def framed(self) -> Framed | None:
        """The exchange in frames, if there is one: all of a pass goes in it."""
        return next((one for one in self.begun if isinstance(one, Framed)), None)

    @property
    def is_empty(self) -> bool:
        """There is nothing to exchange."""
        return not (self.waiting or self.begun)

    @contextmanager
    def codes(self) -> Iterator[None]:
        """Add what is done within to the coding."""
        began = time.perf_counter()
        yield
        self.coding += time.perf_counter() - began

    def arrived(self) -> bool:
        """True where it is known that :meth:`wait` has nothing to wait for."""
        return self.is_empty if self.ending is None else self.ending.arrived()

    @property
    def has_failed(self) -> bool:
        """True if it has arrived and nobody knows what has become of it."""
        return self.ending is not None and self.ending.arrived() and self.outcome is None

    def wait(self) -> None:
        """Wait for all of a pass that has departed.

        Raises
        ------
        WorkerFailedError, WorkerLostError
            If the workers cannot go on together. On a worker that failed, its own error.
        """
        if self.ending is not None:
            self.ending.wait()

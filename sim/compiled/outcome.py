"""Ends of runs of compiled units."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

__all__ = ["DeadlockError", "RetractionError", "Run", "Stop"]


class Stop(NamedTuple):
    """Ends a run once an output has delivered ``times`` elements equal to ``value``.

    The stream's elements must not be wider than 64 bits.
    """

    stream: str
    value: int
    times: int = 1


@dataclass(frozen=True)
class Run:
    """The cycles and words of a run.

    Parameters
    ----------
    outputs : dict of str to numpy.ndarray
        Elements that came, by stream: one number each, or a row of 32-bit words.
    consumed : dict of str to int
        Elements that the unit took, by stream.
    cycles : int
        Clock cycles that it took.
    """

    outputs: dict[str, np.ndarray]
    consumed: dict[str, int]
    cycles: int


class DeadlockError(TimeoutError):
    """A run did not end within its cycles. ``run`` says, and keeps, what was moved till then."""

    def __init__(self, message: str, run: Run) -> None:
        super().__init__(message)
        self.run = run


class RetractionError(AssertionError):
    """An output took back an element, or changed it, before it was accepted."""

    def __init__(self, unit: str, stream: str, cycle: int) -> None:
        super().__init__(
            f"{unit} took back what {stream} offered, or changed it, before it was accepted: "
            f"in cycle {cycle} of the run"
        )

"""Counts of what became of guesses."""

from collections import Counter
from dataclasses import dataclass, field

__all__ = ["Counts"]


@dataclass
class Counts:
    """What has happened so far, on this worker.

    Members
    -------
    steps : int
        Steps that were committed.
    guessed, rejecting : int
        Those of them in which guesses entered, and in which one of these was rejected.
    trials, accepts : Counter of str
        By region: guessed updates that were compared with the true ones, and those that were
        accepted.
    """

    steps: int = 0
    guessed: int = 0
    rejecting: int = 0
    trials: Counter[str] = field(default_factory=Counter)
    accepts: Counter[str] = field(default_factory=Counter)

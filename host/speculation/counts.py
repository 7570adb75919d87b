"""Counts of what became of guesses."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from adagrain.host.distributed.agreement import Trials

__all__ = ["Counts"]


@dataclass
class Counts:
    """Counts of steps and guesses, on this worker.

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

    def note(self, names: Sequence[str], guesses: Mapping[int, Trials], *, guessed: bool) -> None:
        """Count a step.

        Parameters
        ----------
        names : sequence of str
            Of all regions.
        guesses : mapping
            What has become of guesses in it, by number of region.
        guessed : bool
            A guess has entered it.
        """
        self.steps += 1
        self.guessed += guessed
        self.rejecting += any(own.accepts < own.trials for own in guesses.values())
        for region, own in guesses.items():
            self.trials[names[region]] += own.trials
            self.accepts[names[region]] += own.accepts

"""The one vector of integers that the workers sum in every backward pass."""

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
import torch.distributed as dist

from .all_reduce import AllReduce
from .lost import waited_for
from .mesh import Mesh
from .row_sum import RowSum
from .timing import Timing

__all__ = ["Agreed", "Agreeing", "Agreement", "LocalEnergy", "LossRange", "Trials"]

_LOSS_ONE = 1 << 16
_LOSS_LARGEST = (1 << 32) - 1

#: Bits of a count: each guess is one of a region, a step, a worker.
_COUNT = 32

#: What a worker whose loss is not finite adds to the number of those that tell one.
_NOT_FINITE = 1 << _COUNT


class LocalEnergy(NamedTuple):
    """Contribution of a worker for a region that is due: its part of A, and counts of elements."""

    energy: int
    non_finite: int
    saturated: int


class Trials(NamedTuple):
    """Counts of a region's guesses on a worker: accepted ones, and all of them."""

    accepts: int
    trials: int

    @property
    def word(self) -> int:
        """Both in one word, so that the sum of words is that of sums."""
        return self.accepts << _COUNT | self.trials

    @classmethod
    def of_word(cls, word: int) -> "Trials":
        """Both sums."""
        return cls(word >> _COUNT, word & ((1 << _COUNT) - 1))


@dataclass(frozen=True)
class Agreed:
    """Sums over all workers, equal on each of them.

    Members
    -------
    energy, non_finite, saturated : tuple of int
        By region: Σ S2, and counts of elements; 0 where it is not due.
    accepts, trials : tuple of int
        By region: guesses that were accepted, and all of them; empty where nobody guesses.
    loss : int or None
        Mean loss, Q16.16; ``None`` if no worker reported one, or one was not finite.
    stall, redo : int
        Microseconds.
    failed : int
        Workers that cannot go on.
    """

    energy: tuple[int, ...]
    non_finite: tuple[int, ...]
    saturated: tuple[int, ...]
    accepts: tuple[int, ...]
    trials: tuple[int, ...]
    loss: int | None
    stall: int
    redo: int
    failed: int


class Agreement:
    """Sums over the workers, at once for each backward pass.

    Parameters
    ----------
    regions : int
        How many there are.
    timing : Timing
        Where stall and redo times come from.
    group : ProcessGroup or None
        The workers; its collectives run on the CPU.
    mesh : Mesh or None
        Their connections, which are used in place of collectives.
    guesses : bool
        Sum what became of guesses, too. Both counts of a region go in one word.
    """

    def __init__(
        self,
        regions: int,
        timing: Timing,
        group: dist.ProcessGroup | None,
        mesh: Mesh | None = None,
        *,
        guesses: bool = False,
    ) -> None:
        self._regions = regions
        self._columns = len(LocalEnergy._fields) + guesses
        self._timing = timing
        self._group = group
        self._mesh = mesh

    def begin(
        self,
        step: int,
        energies: Mapping[int, LocalEnergy],
        losses: Sequence[float],
        *,
        guesses: Mapping[int, Trials],
        stall: float,
        redo: float,
        failed: bool,
    ) -> "Agreeing":
        """Begin to sum everything over the workers, without waiting.

        Parameters
        ----------
        step : int
            Number of the step.
        energies : mapping
            By number of region, of those that are due.
        losses : sequence of float
            Of the step's backward passes so far.
        guesses : mapping
            By number of region, of those that were guessed; none where they are not summed.
        stall, redo : float
            Seconds, as they were measured.
        failed : bool
            This worker cannot go on.

        Raises
        ------
        WorkerLostError
            If another worker is not there any more.
        """
        values = [0] * (self._columns * self._regions)
        for region, own in energies.items():
            values[region : len(own) * self._regions : self._regions] = own
        for region, tried in guesses.items():
            values[len(LocalEnergy._fields) * self._regions + region] = tried.word
        values += (*_told(losses), *self._timing.local(stall, redo), int(failed))
        vector = torch.tensor(values, dtype=torch.int64)
        with waited_for("the agreement on energies"):
            if self._mesh is not None:
                return Agreeing(step, vector, RowSum(vector, self._mesh))
            return Agreeing(step, vector, AllReduce(vector, self._group))

    def end(self, agreeing: "Agreeing") -> Agreed:
        """Wait for the sums.

        Raises
        ------
        WorkerLostError
            If another worker is not there any more.
        """
        with waited_for("the agreement on energies"):
            agreeing.sum.wait()
        *sums, loss, told, stall, redo, failed = agreeing.vector.tolist()
        columns = [
            tuple(sums[at : at + self._regions]) for at in range(0, len(sums), self._regions)
        ]
        energy, non_finite, saturated, *words = columns
        accepts, trials = zip(*map(Trials.of_word, *words), strict=True) if words else ((), ())
        stall, redo = self._timing.agreed(agreeing.step, stall, redo)
        mean = loss // told if 0 < told < _NOT_FINITE else None
        return Agreed(energy, non_finite, saturated, accepts, trials, mean, stall, redo, failed)


class Agreeing(NamedTuple):
    """An agreement under way."""

    step: int
    vector: torch.Tensor
    sum: AllReduce | RowSum

    def arrived(self) -> bool:
        """True where :meth:`Agreement.end` has nothing to wait for."""
        return self.sum.arrived()


class LossRange:
    """Warns of the first loss that is outside of what the workers can agree on."""

    def __init__(self) -> None:
        self._warned = False

    def checked(self, loss: torch.Tensor | float) -> float:
        """A loss, as it was reported."""
        own = float(loss)
        counts = min(max(own, 0.0), _LOSS_LARGEST / _LOSS_ONE)
        if not self._warned and counts != own and math.isfinite(own):
            self._warned = True
            warnings.warn(
                f"loss must be from 0 to below {_LOSS_LARGEST + 1 >> 16} for the loss guard of the "
                f"cadences, not {own}; it counts as {round(counts)} (this is told once)",
                stacklevel=4,
            )
        return own


def _told(losses: Sequence[float]) -> tuple[int, int]:
    """This worker's mean loss, Q16.16, and 1; twice 0 where there is none."""
    if not losses:
        return 0, 0
    loss = sum(losses) / len(losses)
    if not math.isfinite(loss):
        return 0, _NOT_FINITE
    return min(max(round(loss * _LOSS_ONE), 0), _LOSS_LARGEST), 1
